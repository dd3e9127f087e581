package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

const (
	// handlers is how many tasks of a queue run at a time. Most of them wait for the rest of
	// their second and cost almost nothing.
	handlers = 512
	// leastHandlers is how many tasks of a lane run at least, for any number of lanes.
	leastHandlers = 8
)

// ServerOptions configures a Server. All fields are required.
type ServerOptions struct {
	// Deliver handles the timer of one message. It calls claimed once it has claimed the message:
	// then the lease and the watch list guard it instead of the queue. Announce handles the task
	// of one notice. The queue ends ctx when it loses track of the task.
	Deliver         func(ctx context.Context, m sendlimit.Timer, claimed func()) error
	Announce        func(ctx context.Context, notice string) error
	ShutdownTimeout time.Duration // how long Finish waits for running tasks
	Logger          *slog.Logger
}

// Server takes tasks from the queues and passes them to a worker's functions. It ends in two
// phases, Stop and Finish.
type Server struct {
	queue    *Queue
	options  ServerOptions
	chosen   []*asynq.Server   // one for each queue
	others   map[string]*other // by queue, see lookForOthers
	stopLook func()            // and stop to wait for arrivals
	resting  *resting
	inHand   hands
	running  sync.WaitGroup // what runs, including what the queue has given up on
}

// Serve starts a server.
func (q *Queue) Serve(ctx context.Context, o ServerOptions) (*Server, error) {
	chosen, err := q.spread.shares(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{queue: q, options: o, others: make(map[string]*other), resting: newResting(q), inHand: hands{of: make(map[string]int)}}
	for _, name := range chosen.names {
		started, err := s.start(name, handlers)
		if err != nil {
			s.shutdown(s.chosen)
			return nil, err
		}
		s.chosen = append(s.chosen, started)
	}
	stopWaiting, stopLooking := s.startWaiting(ctx), s.startLooking(ctx)
	s.stopLook = func() {
		stopLooking()
		stopWaiting()
	}
	return s, nil
}

// start starts to serve a queue, with at tasks at a time. Each queue has its own server, so that
// none waits for a master that is down.
func (s *Server) start(name string, at int) (*asynq.Server, error) {
	q := s.queue
	started := asynq.NewServerFromRedisClient(patient{s.resting, q.polling.Fetch}, asynq.Config{
		Concurrency:              at,
		Queues:                   map[string]int{name: 1},
		DelayedTaskCheckInterval: q.polling.Forward,
		TaskCheckInterval:        q.polling.Fetch,
		ShutdownTimeout:          s.options.ShutdownTimeout,
		// A retried task is no failure, and neither is an expired lease: a message's
		// failures are counted in its record.
		IsFailure: func(error) bool { return false },
		// asynq adds the delay to the machine's time.
		RetryDelayFunc: func(_ int, err error, _ *asynq.Task) time.Duration { return comeAgain(err) + q.skew() },
		ErrorHandler:   asynq.ErrorHandlerFunc(s.reportError),
		Logger:         logger{s.options.Logger.With("component", "asynq")},
		LogLevel:       asynq.WarnLevel,
	})
	if err := started.Start(asynq.HandlerFunc(s.process)); err != nil {
		return nil, fmt.Errorf("starting the queue: %w", err)
	}
	return started, nil
}

// Stop takes no more tasks from the queues. Running tasks continue.
func (s *Server) Stop() {
	s.stopLook()
	var stopping sync.WaitGroup
	for _, server := range s.all() {
		stopping.Go(server.Stop) // each waits for the look that it is at
	}
	stopping.Wait()
}

// all returns the servers of all queues. Call it after stopLook.
func (s *Server) all() []*asynq.Server {
	servers := slices.Clone(s.chosen)
	for _, o := range s.others {
		servers = append(servers, o.servers...)
	}
	return servers
}

// shutdown waits for the tasks of servers, at most for the shutdown timeout, and gives back
// those that have not ended.
func (s *Server) shutdown(servers []*asynq.Server) {
	var ending sync.WaitGroup
	for _, server := range servers {
		ending.Go(server.Shutdown)
	}
	ending.Wait()
}

// Finish waits for running tasks, at most for the shutdown timeout, and gives those that have not
// ended back to the queue. Then, until timeout fires, it waits for tasks that the queue no longer
// counts as running, because their lease expired while the store was down.
func (s *Server) Finish(timeout <-chan time.Time) {
	s.shutdown(s.all())
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-timeout:
	}
}

// process handles one task to its end. An error sends the task back.
func (s *Server) process(ctx context.Context, t *asynq.Task) error {
	s.running.Add(1)
	defer s.running.Done()
	return s.drop(ctx, s.dispatch(ctx, t))
}

// drop returns the error of a task or of a message in one. If the task is not ours, it logs that
// and returns nil, so there is no retry.
func (s *Server) drop(ctx context.Context, err error) error {
	if bad, ok := errors.AsType[*NotOursError](err); ok {
		s.options.Logger.ErrorContext(ctx, "dropped a task that is not ours", "error", bad.Cause)
		return nil
	}
	return err
}

func (s *Server) dispatch(ctx context.Context, t *asynq.Task) error {
	switch t.Type() {
	case TypeDeliver:
		timers, newer, err := decodePayload(t.Payload())
		switch {
		case err != nil:
			return &NotOursError{err}
		case newer:
			return errNewer
		}
		return s.deliver(ctx, timers)
	case TypeAlert:
		p, err := decodeAlert(t.Payload())
		if err != nil {
			return &NotOursError{err}
		}
		if p.Version > alertVersion {
			return errNewer
		}
		return s.options.Announce(ctx, p.Notice)
	default:
		return errNewer
	}
}

// deliver handles the timers of a task.
func (s *Server) deliver(ctx context.Context, timers []sendlimit.Timer) (err error) {
	if name, _ := asynq.GetQueueName(ctx); !isLane(s.queue.spread.first, name) {
		account := timers[0].Origin.Account
		s.inHand.add(account, 1)
		defer s.inHand.add(account, -1)
		if timers, err = s.moveCrowds(ctx, timers); err != nil {
			return err
		}
	}
	switch len(timers) {
	case 0:
		return nil
	case 1:
		return s.options.Deliver(ctx, timers[0], func() {})
	}
	return s.deliverBatch(ctx, timers)
}

func (s *Server) reportError(ctx context.Context, _ *asynq.Task, err error) {
	if _, expected := errors.AsType[*AgainError](err); expected {
		s.options.Logger.DebugContext(ctx, "a task comes again", "reason", err)
		return
	}
	s.options.Logger.WarnContext(ctx, "a task could not be handled: it comes again", "error", err)
}
