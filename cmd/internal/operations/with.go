package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/user"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/internal/tracing"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	messagetracing "github.com/sendlimit/sendlimiter/tasks/tracing"
)

// flushWithin bounds how long a finished command sends its spans. A collector that is away must not
// delay it.
const flushWithin = 2 * time.Second

// The flag with the name for the audit log has this annotation: a command may have another --by.
const (
	accountFlag     = "account"
	byFlag          = "by"
	makerAnnotation = "sendlimit_maker"
)

// With reads the settings, and calls do with a client: of an API, of a store with a layout that
// this program knows, or of the worker on this machine. An error of the client comes back as one
// that cli reports as the API's answer.
func (g *Group) With(cmd *cobra.Command, do func(context.Context, *client.Client) error) error {
	ctx, flags := cmd.Context(), cmd.Flags()
	c, err := g.Load(flags, store.ValidURL)
	if err != nil {
		return err
	}
	for _, unknown := range c.Ignored {
		if err := g.Tell("warning: %s\n", unknown); err != nil {
			return err
		}
	}
	if OnStore(c, flags) {
		return store.Using(ctx, c, func(redis redis.UniversalClient) error { return onThis(ctx, g.Program, redis, c, flags, do) })
	}
	var options client.Options
	if c.API == "" {
		if g.worker, err = newWorker(ctx, c, g.Program); err != nil {
			return err
		}
		c.API, options.HTTPClient = g.worker.base, &http.Client{Transport: g.worker}
	}
	if options.Key, err = keyOf(c, flags); err != nil {
		return err
	}
	if options.Key == "" {
		options.Header = http.Header{api.ByHeader: {maker(flags)}}
		if c.Account != "" {
			options.Header.Set(api.AccountHeader, c.Account)
		}
	}
	remote, err := client.New(c.API, options)
	if err != nil {
		return Answered(err)
	}
	defer remote.CloseIdleConnections()
	return needsKey(Answered(do(ctx, remote)), c.API, options.Key != "")
}

// OnStore reports whether a command works on the store itself. Flags take precedence.
func OnStore(c config.Config, flags *pflag.FlagSet) bool {
	given := func(name string) bool {
		f := flags.Lookup(name)
		return f != nil && f.Changed
	}
	return c.RedisURL != "" && (c.API == "" || given("redis-url") && !given("api"))
}

// keyOf returns the key for the API, "" for none. The error is about settings that do not fit an
// API, or a key.
func keyOf(c config.Config, flags *pflag.FlagSet) (client.Key, error) {
	var wrong error
	key := client.Key(c.APIKey)
	if c.APIKeyFile != "" {
		text, err := os.ReadFile(c.APIKeyFile)
		if err != nil {
			return "", &fault.InvalidError{Field: "api_key_file", Value: c.APIKeyFile, Want: "a file with an API key that this program can read"}
		}
		key = client.Key(strings.TrimSpace(string(text)))
	}
	flags.Visit(func(f *pflag.Flag) {
		field, group := strings.ReplaceAll(f.Name, "-", "_"), f.Annotations[config.GroupAnnotation]
		switch {
		case f.Annotations[makerAnnotation] != nil && key != "":
			wrong = fault.Wrong(field, "--%s names who sends no key, and the API at %s knows whose key this is: leave it out", f.Name, c.API)
		case group != nil && group[0] != config.GroupCommands && group[0] != config.GroupChannels && f.Name != accountFlag:
			wrong = fault.Wrong(field, "--%s is for the store, and the API at %s answers this command: leave it out", f.Name, c.API)
		}
	})
	if wrong == nil && c.Account != "" && key != "" {
		wrong = fault.Wrong(accountFlag, "account is %q, and the API at %s charges the account of the key: leave it out, and give a key of that account", c.Account, c.API)
	}
	return key, wrong
}

// onThis calls do with a client of an API of this process.
func onThis(
	ctx context.Context, p cli.Program, redis redis.UniversalClient, c config.Config, flags *pflag.FlagSet,
	do func(context.Context, *client.Client) error,
) (err error) {
	traces, err := tracing.Start(ctx, tracing.Program{Name: p.Name, Version: cli.Version(), Getenv: p.Getenv}, nil)
	if err != nil {
		return err
	}
	defer traces.Stop(ctx, flushWithin)
	options := store.BackendOptions(c)
	if options.TracerProvider = traces.Provider(); options.TracerProvider != nil {
		redis.AddHook(messagetracing.Hook())
	}
	b, err := backend.Open(redis, options)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	if err := b.Listen.Load(ctx); err != nil {
		return err
	}
	o, end, err := Open(b, c, Parts(c))
	if err != nil {
		return fmt.Errorf("opening the operations: %w", err)
	}
	o.Tracer = b.Tracer
	defer func() { err = errors.Join(err, end()) }()
	defer b.StartFlushing()()
	if c.Account != "" {
		if err := o.Submitter.CheckAccount(ctx, c.Account); err != nil {
			return fmt.Errorf("looking for the account: %w", err)
		}
	}
	handler, err := api.New(o)
	if err != nil {
		return fmt.Errorf("opening the operations: %w", err)
	}
	transport := api.NewInProcess(handler, api.Hand{Operator: true, By: maker(flags), Account: c.Account})
	here, err := client.New("http://localhost", client.Options{
		HTTPClient: &http.Client{Transport: &marking{InProcess: transport, redis: redis, prefix: c.Prefix}}, Attempts: 1, // the store is asked again below
	})
	if err != nil {
		return fmt.Errorf("opening the operations: %w", err)
	}
	return Answered(do(ctx, here))
}

// maker returns the name of the person who makes a change, for the audit log.
func maker(flags *pflag.FlagSet) string {
	if by := flags.Lookup(byFlag); by != nil && by.Annotations[makerAnnotation] != nil && by.Value.String() != "" {
		return by.Value.String()
	}
	u, err := user.Current()
	if err != nil {
		return "a command"
	}
	return u.Username
}

// marking is a transport that marks a new store with its layout before the first change.
type marking struct {
	*api.InProcess

	redis  redis.UniversalClient
	prefix string
	once   sync.Once
	err    error
}

// RoundTrip lets the API answer a request.
func (m *marking) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		m.once.Do(func() { m.err = redisstore.PresentLayout.Check(r.Context(), m.redis, keyspace.KeysUnder(m.prefix)) })
		if m.err != nil {
			return nil, fmt.Errorf("looking at the layout of the store: %w", m.err)
		}
	}
	return m.InProcess.RoundTrip(r)
}
