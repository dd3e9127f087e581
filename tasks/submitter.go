package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// SubmitterOptions configure a Submitter. The zero value is the default policy
// under the default prefix.
type SubmitterOptions struct {
	Prefix      string        // of keys and queue; "" means sendlimit.DefaultPrefix
	Policy      string        // name of the policy, whose rules the store has; "" means sendlimit.DefaultPolicyName
	Reach       time.Duration // how far ahead a send time may lie; zero means sendlimit.DefaultReach
	KeepRecords time.Duration // how long a record outlives its message; zero means sendlimit.DefaultKeepRecords
	Logger      *slog.Logger  // nil means none
	// Batch sends what concurrent callers ask for in common pipelines: for
	// many callers at once, each of whom then waits for a pipeline to end and
	// not only for its own context. A caller alone is no slower.
	Batch bool
}

// Submitter takes messages, and takes them back. It is safe for concurrent
// use. Its answers are Outcomes, refusals and invalid messages included; an
// error means that the store did not answer (an *sendlimit.UnavailableError)
// or that ctx ended, and then the same message with the same id can be
// submitted again.
//
// The client should end commands with their context (ContextTimeoutEnabled),
// or a slow queue holds up callers for as long as the client's own timeouts.
type Submitter struct {
	rules     *rules
	queue     *queue
	confirmer *confirmer
	clock     *clock
	logger    *slog.Logger
	client    redis.UniversalClient
	batcher   io.Closer // nil without Batch
}

// NewSubmitter returns a Submitter on the store behind client. The error is a
// *sendlimit.InvalidError. Close it.
func NewSubmitter(client redis.UniversalClient, o SubmitterOptions) (*Submitter, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	watch, err := sendlimit.NewWatchList(client, o.Prefix)
	if err != nil {
		return nil, err
	}
	commands, batcher, err := commandsOf(client, o.Batch)
	if err != nil {
		return nil, err
	}
	r, err := newRules(commands, o.Policy, sendlimit.Options{Prefix: o.Prefix, Reach: o.Reach, KeepRecords: o.KeepRecords})
	if err != nil {
		if batcher != nil {
			err = errors.Join(err, batcher.Close())
		}
		return nil, err
	}
	return &Submitter{
		rules: r, queue: newQueue(commands, o.Prefix), batcher: batcher, confirmer: newConfirmer(watch, o.Logger),
		clock: newClock(), logger: o.Logger, client: client,
	}, nil
}

// Close waits for what is being noted about accepted messages. The client
// stays open.
func (s *Submitter) Close() error {
	s.confirmer.close()
	if s.batcher == nil {
		return nil
	}
	if err := s.batcher.Close(); err != nil {
		return fmt.Errorf("ending the batches: %w", err)
	}
	return nil
}

// commandsOf returns what a submitter sends its commands by, and what to close
// of it.
func commandsOf(client redis.UniversalClient, batch bool) (redis.UniversalClient, io.Closer, error) {
	if !batch {
		return client, nil, nil
	}
	// Small batches, two at a time, came out best by measure: one is read while
	// the other is run.
	batcher, err := client.AutoPipelineWithOptions(&redis.AutoPipelineOptions{
		MaxBatchSize: 32, MaxConcurrentBatches: 2, Unordered: true,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("sending commands in batches: %w", err)
	}
	return batcher, batcher, nil
}

// Timeline returns the timeline under the store's present rules, for looking
// around in it.
func (s *Submitter) Timeline(ctx context.Context) (*sendlimit.Timeline, error) {
	l, err := s.rules.limiters(ctx)
	if err != nil {
		return nil, err
	}
	return l.timeline, nil
}

// Submit judges a message and takes its place, or says why not. Accepted means
// durable: the message is sent even if this process ends right after.
func (s *Submitter) Submit(ctx context.Context, m Message) (Outcome, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return Outcome{}, err
	}
	o, request := s.judge(ctx, m, t, t.Reserve)
	if request.err != nil || o.Outcome != Accepted || o.Replayed {
		return o, request.err
	}
	s.handOver(ctx, sendlimit.Queued{
		User: o.User, ID: o.ID, Generation: request.generation, Due: o.SendAt.Time,
	})
	return o, nil
}

// Check says what Submit would answer, and leaves nothing behind.
func (s *Submitter) Check(ctx context.Context, m Message) (Outcome, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return Outcome{}, err
	}
	o, request := s.judge(ctx, m, t, t.Check)
	return o, request.err
}

// judged is what judging a message leaves beside its outcome.
type judged struct {
	generation string
	err        error
}

// judge puts a message to reserve, or to what stands in for it.
func (s *Submitter) judge(
	ctx context.Context, m Message, t *sendlimit.Timeline,
	reserve func(context.Context, sendlimit.Request) (sendlimit.Decision, error),
) (Outcome, judged) {
	request, err := s.request(m)
	if err != nil {
		return invalidOutcome(err, m), judged{}
	}
	// What has expired by now would never go out, and takes no place. What is
	// known of its id is answered first all the same.
	expired := !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(s.clock.now())
	if expired {
		reserve = t.Check
	}
	sent := s.clock.local()
	d, err := reserve(ctx, request)
	if err != nil {
		return Outcome{}, judged{err: err}
	}
	s.clock.learn(sent, s.clock.local(), d.Now)
	if expired && (d.Allowed && !d.Replayed || d.Code == sendlimit.CodeSendLimit) {
		return invalidOutcome(invalid("expires_at", m.ExpiresAt.UTC().Format(time.RFC3339Nano), "a time after now"), m), judged{}
	}
	return outcomeOf(d, Accepted, m.User, request.ID), judged{generation: request.Record.Generation}
}

func invalidOutcome(err error, m Message) Outcome {
	o := OutcomeOf(err)
	o.ID, o.User = m.ID, m.User
	return o
}

// request makes the timeline's request of a message. The error is a
// *sendlimit.InvalidError.
func (s *Submitter) request(m Message) (sendlimit.Request, error) {
	if err := m.Validate(); err != nil {
		return sendlimit.Request{}, err
	}
	mark := Fingerprint(m)
	content, err := encodeContent(m)
	if err != nil {
		return sendlimit.Request{}, err
	}
	r := sendlimit.Request{
		User: m.User, ID: m.ID, At: m.SendAt, Shift: m.shifts(),
		Record: &sendlimit.Record{
			Generation: sendlimit.NewGeneration(), Fingerprint: string(mark[:]),
			ExpiresAt: m.ExpiresAt, Category: m.Category, Content: content,
		},
	}
	if r.ID == "" {
		r.ID = uuid.Must(uuid.NewV7()).String() // fails only where the system has no randomness
	}
	if m.Now {
		r.At = time.Time{}
	}
	if r.Shift {
		r.ShiftUntil = s.shiftUntil(m)
	}
	return r, nil
}

// shiftUntil is the last send time a shift may take: what the caller set or
// the default, and before the message expires.
func (s *Submitter) shiftUntil(m Message) time.Time {
	until := m.ShiftUntil
	if until.IsZero() {
		from := m.SendAt
		if m.Now {
			from = s.clock.now()
		}
		until = from.Add(DefaultShift)
	}
	if last := m.ExpiresAt.Add(-time.Millisecond); !m.ExpiresAt.IsZero() && last.Before(until) {
		until = last
	}
	return until
}

// Cancel takes a message back, until it is being sent.
func (s *Submitter) Cancel(ctx context.Context, user, id string) (Outcome, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return Outcome{}, err
	}
	d, err := t.Release(ctx, sendlimit.ReleaseRequest{User: user, ID: id})
	if err != nil {
		return invalidOr(err, user, id)
	}
	o := outcomeOf(d, Cancelled, user, id)
	if d.Allowed {
		o.SendAt = Time{}
	}
	return o, nil
}

// Move gives a message another send time, until it is being sent; a zero time
// means now. The old time is kept when the new one is refused.
func (s *Submitter) Move(ctx context.Context, user, id string, at time.Time) (Outcome, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return Outcome{}, err
	}
	generation := sendlimit.NewGeneration()
	d, err := t.Move(ctx, sendlimit.MoveRequest{User: user, ID: id, At: at, Generation: generation})
	if err != nil {
		return invalidOr(err, user, id)
	}
	if d.Allowed && !d.At.Equal(d.MovedFrom) {
		s.handOver(ctx, sendlimit.Queued{User: user, ID: id, Generation: generation, Due: d.At})
	}
	return outcomeOf(d, Moved, user, id), nil
}

// invalidOr makes an outcome of an invalid argument; other errors stay errors.
func invalidOr(err error, user, id string) (Outcome, error) {
	if o := OutcomeOf(err); o.Outcome == Invalid {
		o.User, o.ID = user, id
		return o, nil
	}
	return Outcome{}, err
}

// handOver gives a message's timer to the queue. A failure changes nothing:
// the message is on the watch list.
func (s *Submitter) handOver(ctx context.Context, q sendlimit.Queued) {
	if err := s.queue.enqueue(ctx, q); err != nil {
		s.logger.WarnContext(ctx, "the queue did not take a message: the watch list has it", "error", err)
		return
	}
	s.confirmer.add(q)
}

// Rehearse begins a dry run of many messages, in which those accepted earlier
// count. Close it.
func (s *Submitter) Rehearse(ctx context.Context) (*Rehearsal, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return nil, err
	}
	return &Rehearsal{submitter: s, timeline: t, rehearsal: t.Rehearse(s.client)}, nil
}

// Rehearsal is a dry run of many messages. Its rules are those there were at
// its start.
type Rehearsal struct {
	submitter *Submitter
	timeline  *sendlimit.Timeline
	rehearsal *sendlimit.Rehearsal
}

// Submit answers what Submitter.Submit would have answered after what this
// rehearsal accepted before. Nothing is sent.
func (r *Rehearsal) Submit(ctx context.Context, m Message) (Outcome, error) {
	o, request := r.submitter.judge(ctx, m, r.timeline, r.rehearsal.Reserve)
	return o, request.err
}

// Close removes what the rehearsal left in the store.
func (r *Rehearsal) Close(ctx context.Context) error { return r.rehearsal.Close(ctx) }
