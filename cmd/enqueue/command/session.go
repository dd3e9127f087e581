package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/internal/tracing"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	redisstore "github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	messagetracing "github.com/sendlimit/sendlimiter/tasks/tracing"
)

// session is a connection to the store, with the submitter on it.
type session struct {
	client    redis.UniversalClient
	submitter *submit.Submitter
	backend   *backend.Backend
}

// withSession runs do on the store that the settings name.
func (p *program) withSession(ctx context.Context, c config.Config, do func(*session) error) error {
	return store.Using(ctx, c, func(client redis.UniversalClient) error {
		traces, err := tracing.Start(ctx, tracing.Program{Name: cli.Submitter, Version: cli.Version(), Getenv: p.Getenv}, nil)
		if err != nil {
			return err
		}
		defer traces.Stop(context.Background(), flushWithin)
		s := &session{client: client}
		if err := s.begin(ctx, c, traces); err != nil {
			return errors.Join(s.diagnose(ctx, err), s.close())
		}
		stopFlushing := s.backend.StartFlushing()
		err = do(s)
		stopFlushing()
		return errors.Join(err, s.close())
	})
}

// begin reads the rules, and then checks the layout of the store. This order matters: the
// check marks a new store, and a store without rules must stay unmarked.
func (s *session) begin(ctx context.Context, c config.Config, traces *tracing.Tracing) error {
	opened := store.BackendOptions(c)
	if opened.TracerProvider = traces.Provider(); opened.TracerProvider != nil {
		s.client.AddHook(messagetracing.Hook())
	}
	b, err := backend.Open(s.client, opened)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	s.backend = b
	options := store.SubmitterOptions(c)
	options.Batch = true
	if s.submitter, err = submit.New(b, options); err != nil {
		return fmt.Errorf("preparing to submit: %w", err)
	}
	if _, err := s.submitter.Timeline(ctx); err != nil {
		return fmt.Errorf("reading the rules: %w", err)
	}
	if err := redisstore.PresentLayout.Check(ctx, s.client, keyspace.KeysUnder(c.Prefix)); err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	if err := b.Listen.Load(ctx); err != nil {
		return err
	}
	if c.Account == "" {
		return nil
	}
	if err := s.submitter.CheckAccount(ctx, c.Account); err != nil {
		return fmt.Errorf("looking for the account: %w", err)
	}
	s.submitter = s.submitter.For(c.Account)
	return nil
}

// diagnoseWithin bounds the inspection of a store that has just failed.
const diagnoseWithin = 2 * time.Second

// diagnose inspects a store that failed. It returns that error if it says more than err, such as
// that the store is too old, otherwise err.
func (s *session) diagnose(ctx context.Context, err error) error {
	_, invalid := errors.AsType[*fault.InvalidError](err)
	if ctx.Err() != nil || invalid || timedOut(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, diagnoseWithin)
	defer cancel()
	_, problem := store.Inspect(ctx, s.client)
	if _, unfit := errors.AsType[*fault.UnavailableError](problem); unfit && !timedOut(problem) {
		return problem
	}
	return err
}

// diagnosing returns diagnose, for errors that come later.
func (s *session) diagnosing(ctx context.Context) func(error) error {
	return func(err error) error { return s.diagnose(ctx, err) }
}

// timedOut reports whether a server did not answer in time.
func timedOut(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout()
}

// flushWithin bounds how long a finished command sends its spans. A collector that is away must not
// delay it.
const flushWithin = 2 * time.Second

func (s *session) close() error {
	if s.submitter == nil {
		return nil
	}
	if err := s.submitter.Close(); err != nil {
		return fmt.Errorf("finishing what was submitted: %w", err)
	}
	return nil
}
