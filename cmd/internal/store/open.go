package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// The client's settings unless the URL has others.
const (
	// PoolSize has room for 64 concurrent callers and the queue's goroutines.
	// Connections are opened when they are needed.
	PoolSize = 128
	// poolTimeout is how long a caller waits when all connections are busy.
	poolTimeout = 4 * time.Second
	// dialTimeout bounds one attempt to connect. The client dials once in each of its
	// retries.
	dialTimeout   = 3 * time.Second
	dialerRetries = 1
	// ioTimeout bounds one write or read. Scripts answer within milliseconds. After the
	// timeout the command may have run, and is repeated.
	ioTimeout = 3 * time.Second
	// maxRetries is how often a command is repeated after a failed connection, with waits from 10
	// ms to half a second. A repeated script returns the same answer.
	maxRetries      = 3
	maxRetryBackoff = 500 * time.Millisecond
)

// Options configure Open. The zero value is usable.
type Options struct {
	// Logger receives the log of the client library at debug level: a failure that
	// matters is returned as an error too. Nil discards it.
	Logger *slog.Logger
	// TLS is for a URL with TLS; other URLs ignore it. Its files are read again for each
	// connection.
	TLS config.RedisTLS
}

// Open returns a client for the store of a URL. It connects with the first command. The error is a
// *fault.InvalidError for redis_url, without the password, or for a file of TLS.
//
// Commands for a master of a cluster that does not answer fail at once, see
// store.WatchNodes.
//
// Every command obeys the deadline of its context. The client library has one logger for
// all clients, which Open sets.
func Open(url string, options Options) (redis.UniversalClient, error) {
	to, problem := parseURL(url)
	if problem != nil {
		return nil, problem
	}
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	redis.SetLogger(clientLogger{logger})

	var dial func(context.Context, string, string) (net.Conn, error)
	if to.tls != nil {
		dialer, err := newSecured(options.TLS, to.tls, logger)
		if err != nil {
			return nil, err
		}
		dial = dialer.dial
	}
	switch {
	case to.sentinel != nil:
		tuneSentinel(to.sentinel)
		to.sentinel.Dialer = dial
		return redis.NewFailoverClient(to.sentinel), nil
	case to.cluster != nil:
		tuneCluster(to.cluster)
		to.cluster.Dialer = dial
		cluster := redis.NewClusterClient(to.cluster)
		store.WatchNodes(cluster)
		return cluster, nil
	default:
		tune(to.single)
		to.single.Dialer = dial
		return redis.NewClient(to.single), nil
	}
}

// Close closes a client. A second call does nothing.
func Close(client redis.UniversalClient) error {
	if err := client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}

func tune(o *redis.Options) {
	setDefault(&o.PoolSize, PoolSize)
	setDefault(&o.PoolTimeout, poolTimeout)
	setDefault(&o.DialTimeout, dialTimeout)
	setDefault(&o.ReadTimeout, ioTimeout)
	setDefault(&o.WriteTimeout, ioTimeout)
	setDefault(&o.MaxRetries, maxRetries)
	setDefault(&o.MaxRetryBackoff, maxRetryBackoff)
	o.DialerRetries = dialerRetries
	o.ContextTimeoutEnabled = true
	// Both are useless here, and older servers answer with an error.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

func tuneSentinel(o *redis.FailoverOptions) {
	o.PoolSize, o.PoolTimeout = PoolSize, poolTimeout
	o.DialTimeout, o.DialerRetries = dialTimeout, dialerRetries
	o.ReadTimeout, o.WriteTimeout = ioTimeout, ioTimeout
	o.MaxRetries, o.MaxRetryBackoff = maxRetries, maxRetryBackoff
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true // maintenance notifications are off with Sentinel
}

func tuneCluster(o *redis.ClusterOptions) {
	o.PoolSize, o.PoolTimeout = PoolSize, poolTimeout
	o.DialTimeout, o.DialerRetries = dialTimeout, dialerRetries
	o.ReadTimeout, o.WriteTimeout = ioTimeout, ioTimeout
	o.MaxRetryBackoff = maxRetryBackoff // the cluster client counts redirects instead of retries
	o.ContextTimeoutEnabled = true
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// setDefault sets a field that the URL has not set.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// clientLogger passes on the client library's log.
type clientLogger struct{ logger *slog.Logger }

// Printf implements the logger of the client library.
func (l clientLogger) Printf(ctx context.Context, format string, args ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "redis client", "line", fmt.Sprintf(format, args...))
	}
}

// Using opens the store of the settings, and calls do with it if it is usable and this program
// knows its layout. It closes the store after do.
func Using(ctx context.Context, settings config.Config, do func(redis.UniversalClient) error) (err error) {
	client, err := Open(settings.RedisURL, Options{TLS: settings.RedisTLS})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, Close(client)) }()
	if _, err := Inspect(ctx, client); err != nil {
		return err
	}
	if _, err := store.PresentLayout.Read(ctx, client, keyspace.KeysUnder(settings.Prefix)); err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	return do(client)
}
