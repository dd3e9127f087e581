package store

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/pipe"
)

// EmbeddedCapacity is the most pending messages that the embedded store is meant for. It sorts a
// set at each read, so more messages make it slow.
const EmbeddedCapacity = 10_000

// expiryInterval is how often keys of the embedded store age. A key may expire too early or too
// late by this.
const expiryInterval = 250 * time.Millisecond

// Embedded is a store inside the process, for trying out. It speaks enough of Redis for
// the programs, keeps everything in memory and loses it with Close. It listens at no address:
// only its client reaches it.
type Embedded struct {
	Client *redis.Client // closed before the store

	server  *miniredis.Miniredis
	stop    chan struct{}
	running sync.WaitGroup
}

// StartEmbedded starts an embedded store. The logger is that of Options.
func StartEmbedded(logger *slog.Logger) *Embedded {
	e := &Embedded{server: miniredis.NewMiniRedis(), stop: make(chan struct{})}
	redis.SetLogger(clientLogger{logger})
	options := &redis.Options{Addr: "the embedded store", Dialer: e.dial}
	tune(options)
	e.Client = redis.NewClient(options)
	e.running.Go(e.expireKeys)
	return e
}

// dial connects the client. The server begins with its first connection.
func (e *Embedded) dial(context.Context, string, string) (net.Conn, error) {
	conn, err := e.server.Dial()
	if err != nil {
		return nil, fmt.Errorf("connecting to the embedded store: %w", err)
	}
	return pipe.Buffered(conn), nil
}

// Close ends the store with everything in it.
func (e *Embedded) Close() {
	close(e.stop)
	e.running.Wait()
	e.server.Close()
}

// expireKeys makes keys expire by the clock: miniredis itself does not.
func (e *Embedded) expireKeys() {
	ticks := time.NewTicker(expiryInterval)
	defer ticks.Stop()
	last := time.Now()
	for {
		select {
		case <-e.stop:
			return
		case <-ticks.C:
			now := time.Now()
			e.server.FastForward(now.Sub(last))
			last = now
		}
	}
}
