package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// EmbeddedAddress is where a worker without a Redis URL starts its store, and where other
// programs without a URL look for it, unless a setting says otherwise.
const EmbeddedAddress = config.EmbeddedAddress

// EmbeddedCapacity is the number of pending messages that the embedded store is meant for.
// It sorts a set at each read, so more messages make it slow.
const EmbeddedCapacity = 10_000

// expiryInterval is how often keys of the embedded store age. A key may expire that much
// too early or too late.
const expiryInterval = 250 * time.Millisecond

// acceptPause is how long the store waits before it takes a connection again after it could not.
const acceptPause = 50 * time.Millisecond

// Embedded is a store inside the process, for trying out. It speaks enough of Redis for
// the programs, keeps everything in memory and loses it with Close.
type Embedded struct {
	server   *miniredis.Miniredis
	listener net.Listener
	stop     chan struct{}
	running  sync.WaitGroup
	close    sync.Once
}

// StartEmbedded starts the embedded store on a loopback address; "" means EmbeddedAddress
// and port 0 any free port. If the address is taken, the error wraps a
// *fault.UnavailableError.
func StartEmbedded(ctx context.Context, address string) (*Embedded, error) {
	if address == "" {
		address = EmbeddedAddress
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = &fault.UnavailableError{Detail: taken(ctx, address), Err: err}
		}
		return nil, fmt.Errorf("starting the embedded store: %w", err)
	}
	e := &Embedded{server: miniredis.NewMiniRedis(), listener: listener, stop: make(chan struct{})}
	if err := e.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the embedded store: %w", err), listener.Close())
	}
	e.running.Go(e.expireKeys)
	e.running.Go(e.accept)
	return e, nil
}

// begin makes the server ready: it begins with its first connection.
func (e *Embedded) begin() error {
	first, err := e.server.Dial()
	if err != nil {
		return err
	}
	known := make(map[string]bool)
	for _, name := range commands() {
		known[name] = true
	}
	survivor := &survivor{server: e.server.Server(), known: known, running: make(map[*server.Peer]bool)}
	e.server.Server().SetPreHook(survivor.run)
	return first.Close()
}

// accept serves connections until the store ends.
func (e *Embedded) accept() {
	for {
		conn, err := e.listener.Accept()
		select {
		case <-e.stop:
			if err == nil {
				_ = conn.Close()
			}
			return
		default:
		}
		if err != nil {
			time.Sleep(acceptPause) // too many files are open
			continue
		}
		e.server.Server().ServeConn(guarded(conn))
	}
}

// Address returns where the store listens.
func (e *Embedded) Address() string { return e.listener.Addr().String() }

// URL returns the URL for Open.
func (e *Embedded) URL() string { return "redis://" + e.Address() }

// Close ends the store with everything in it. Closing twice is harmless.
func (e *Embedded) Close() {
	e.close.Do(func() {
		close(e.stop)
		_ = e.listener.Close()
		e.running.Wait()
		e.server.Close()
	})
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

// taken returns what to do about an address that is in use, by what answers there.
func taken(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	options := &redis.Options{Addr: address, MaxRetries: -1}
	tune(options)
	client := redis.NewClient(options)
	defer client.Close()

	_, port, _ := net.SplitHostPort(address)
	err := client.Ping(ctx).Err()
	if _, replied := errors.AsType[redis.Error](err); err == nil || replied {
		return fmt.Sprintf("port %s is taken by a Redis or by another worker's embedded store:"+
			" share it with REDIS_URL=redis://%s, or choose another port with --embedded-address", port, address)
	}
	return fmt.Sprintf("port %s is taken by another program: choose another one with --embedded-address", port)
}
