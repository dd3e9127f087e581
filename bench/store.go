package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// callers is how many goroutines call at the same time, each with a connection. It is
// the same on both sides of every row.
const callers = 64

// store is a separate Redis for one measurement, with the client that both sides share.
type store struct {
	server *redistest.Server
	client *redis.Client
}

// openStore starts an empty Redis that writes nothing to disk, and loads the product's
// scripts.
func openStore(ctx context.Context) (*store, error) {
	server, err := redistest.Start(ctx, redistest.Options{})
	if err != nil {
		return nil, fmt.Errorf("start redis-server, which the benchmarks need in PATH: %w", err)
	}
	s := &store{server: server, client: connect(server, callers)}
	for _, script := range lua.All() {
		if err := script.Load(ctx, s.client).Err(); err != nil {
			return nil, errors.Join(fmt.Errorf("load the scripts: %w", err), s.close())
		}
	}
	return s, nil
}

// openSeeded is openStore with the default policy.
func openSeeded(ctx context.Context) (*store, error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.seedPolicy(ctx, ""); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func connect(server *redistest.Server, connections int) *redis.Client {
	return redis.NewClient(connection(server, connections))
}

func connection(server *redistest.Server, connections int) *redis.Options {
	return &redis.Options{
		Addr: server.Addr, PoolSize: connections, MinIdleConns: connections,
		ContextTimeoutEnabled: true, // as the programs have it
		// A reply may take long on a busy machine, and a retry would be measured too.
		ReadTimeout: time.Minute, WriteTimeout: time.Minute, PoolTimeout: time.Minute,
	}
}

// connectOver is connect with a time added to each round trip.
func connectOver(server *redistest.Server, connections int, added time.Duration) *redis.Client {
	options := connection(server, connections)
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return slowConn{conn, added}, nil
	}
	return redis.NewClient(options)
}

// slowConn sends everything later by a time. A request is one write, and so is a pipeline.
type slowConn struct {
	net.Conn

	later time.Duration
}

// Write implements net.Conn.
func (c slowConn) Write(b []byte) (int, error) {
	time.Sleep(c.later)
	return c.Conn.Write(b)
}

func (s *store) close() error {
	return errors.Join(s.client.Close(), s.server.Close())
}

// filling returns a client that batches the commands of concurrent callers, to prepare
// a measurement. Close it.
func (s *store) filling() (*redis.AutoPipeliner, error) {
	batched, err := s.client.AutoPipeline()
	if err != nil {
		return nil, fmt.Errorf("batch commands: %w", err)
	}
	return batched, nil
}

// resetCommandTime resets the time of commands to zero.
func (s *store) resetCommandTime(ctx context.Context) error {
	if err := s.client.ConfigResetStat(ctx).Err(); err != nil {
		return fmt.Errorf("reset the command statistics: %w", err)
	}
	return nil
}

// scriptTime returns how long the server ran scripts since resetCommandTime, with the
// commands they call, and how many ran.
func (s *store) scriptTime(ctx context.Context) (spent time.Duration, runs int, err error) {
	info, err := s.info(ctx, "commandstats")
	if err != nil {
		return 0, 0, err
	}
	for _, command := range []string{"cmdstat_evalsha", "cmdstat_eval"} {
		for pair := range strings.SplitSeq(info[command], ",") {
			name, text, _ := strings.Cut(pair, "=")
			n, _ := strconv.Atoi(text) // other pairs of the line are not integers
			switch name {
			case "calls":
				runs += n
			case "usec":
				spent += time.Duration(n) * time.Microsecond
			}
		}
	}
	return spent, runs, nil
}

// info returns the fields of a section of INFO.
func (s *store) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.client.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO %s: %w", section, err)
	}
	fields := make(map[string]string)
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// infoInt returns an integer field of INFO.
func (s *store) infoInt(ctx context.Context, section, field string) (int, error) {
	info, err := s.info(ctx, section)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(info[field])
	if err != nil {
		return 0, fmt.Errorf("%s of INFO %s: %w", field, section, err)
	}
	return n, nil
}
