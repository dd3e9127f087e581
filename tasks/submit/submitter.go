package submit

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/internal/ended"
	"github.com/sendlimit/sendlimiter/tasks/internal/gather"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
	"github.com/sendlimit/sendlimiter/tasks/metrics"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/rules"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// Options configure a Submitter.
type Options struct {
	// StoreFullAt is the percentage of the store's maxmemory above which no message is accepted:
	// 50 to 100, zero means DefaultStoreFullAt. A store without a known maxmemory has no limit.
	StoreFullAt int
	// WaitReplicas is how many replicas must have a submit, a move or a cancel before the answer,
	// at most MaxWaitReplicas. After WaitReplicasTimeout (zero means DefaultWaitReplicasTimeout),
	// the answer is a *fault.UnavailableError, and the change may have been made.
	WaitReplicas        int
	WaitReplicasTimeout time.Duration
	// Batch sends the scripts of concurrent callers in shared pipelines, in a cluster those
	// of each master. It helps many callers at once. A single caller is no slower, and each
	// waits only as long as its own context. With WaitReplicas each caller has its own
	// connection, and only the scripts of the queue are batched.
	Batch bool
	// CheckChannel checks the content of a message for a channel with devices. nil checks nothing.
	CheckChannel ChannelCheck
}

// Submitter accepts, moves and cancels messages. It is safe for concurrent use. Its answers are
// Outcomes, even for refusals and invalid messages. An error means that the store did not answer
// (a *fault.UnavailableError) or that ctx ended. The same message with the same id can then be
// submitted again.
//
// The client should end commands with their context (ContextTimeoutEnabled). Otherwise a slow queue
// delays callers until the client's own timeouts.
type Submitter struct {
	Policies  *rules.Policies
	timeline  *sendlimit.Timeline // under the rules of Policies, see Timeline
	records   *messages.Records
	campaigns *ended.Campaigns
	index     *find.Index
	keys      keyspace.Keys
	channels  channelChecker
	options   sendlimit.Options     // of the timeline
	commands  redis.UniversalClient // the client of the timeline
	capacity  *capacity
	replicas  *replicas
	queue     *queue.Queue
	timers    *queue.Timers
	// lookAfter is how long after an accept the relay checks whether the queue has the message.
	lookAfter time.Duration
	clock     *storeclock.Clocks
	logger    *slog.Logger
	metrics   *metrics.Metrics
	activity  *activity.Log
	flush     func() // of activity
	client    redis.UniversalClient
	batches   *gather.Client // nil without Batch
	charger   *charger
	tracer    tracing.Tracer
	account   string // that it acts for, see For; "" for everybody
}

// New returns a Submitter on a backend. The error is a *fault.InvalidError. Close it.
func New(b *backend.Backend, o Options) (*Submitter, error) {
	if !o.Batch {
		return newSubmitter(b, b.Client, o)
	}
	batches := gather.NewClient(b.Client)
	s, err := newSubmitter(b, batches, o)
	if err != nil {
		return nil, err
	}
	s.batches = batches
	return s, nil
}

// newSubmitter returns a Submitter that sends through commands. Calls that need their own
// connection use the backend's client.
func newSubmitter(b *backend.Backend, commands redis.UniversalClient, o Options) (*Submitter, error) {
	room, err := newCapacity(b.Client, o.StoreFullAt)
	if err != nil {
		return nil, err
	}
	copies, err := newReplicas(b.Client, b.Keys, o.WaitReplicas, o.WaitReplicasTimeout)
	if err != nil {
		return nil, err
	}
	q := b.Queue.Through(commands)
	s := &Submitter{
		keys: b.Keys, index: find.NewIndex(b.Client, b.Keys, b.Timeline.WithoutIndex), records: messages.NewRecords(b.Client, b.Keys),
		campaigns: ended.New(commands, b.Keys, b.Policies.Clock),
		channels:  channelChecker{o.CheckChannel, devices.New(commands, b.Keys, devices.Options{})},
		Policies:  b.Policies, options: b.Timeline, commands: commands, capacity: room, replicas: copies,
		queue: q, timers: q.Timers(b.Watch, b.Logger), lookAfter: b.Watch.LookAfter(), clock: b.Policies.Clock, logger: b.Logger, metrics: b.Metrics, client: b.Client,
		activity: b.Activity, flush: b.FlushActivity, tracer: b.Tracer,
	}
	if s.timeline, err = sendlimit.NewTimeline(commands, b.Timeline); err != nil {
		return nil, err
	}
	if s.charger, err = newCharger(commands, b, s.Announce); err != nil {
		return nil, err
	}
	s.charger.limitPlaces(b.Timeline.PlacesPerDay, b.AccountPlaces)
	s.timers.Start()
	return s, nil
}

// Announce enqueues notices. If the queue does not accept them, workers find them in the outbox.
func (s *Submitter) Announce(ctx context.Context, notices []string) {
	s.queue.EnqueueNotices(ctx, notices, s.logger)
}

// Close waits until the confirmations and charges of accepted messages are written, and writes the
// outcomes of messages to the backend's activity. The client stays open.
func (s *Submitter) Close() error {
	s.timers.Close()
	s.charger.close()
	s.flush()
	if s.batches != nil {
		s.batches.Wait()
	}
	return nil
}

// Timeline returns the timeline under the store's present rules, for reading.
func (s *Submitter) Timeline(ctx context.Context) (*sendlimit.Timeline, error) {
	if err := s.Policies.Refresh(ctx); err != nil {
		return nil, err
	}
	return s.timeline, nil
}

// Counters returns counters. Their calls share the pipelines of concurrent callers with submits.
func (s *Submitter) Counters() *counters.Counters { return counters.New(s.commands, s.keys) }

// Submit judges a message and takes its place, or says why not. Accepted means
// durable: the message is sent even if this process ends right after.
func (s *Submitter) Submit(ctx context.Context, m message.Message) (message.Outcome, error) {
	ctx, span := s.tracer.Submit(ctx)
	o, err := s.submit(ctx, m)
	return s.ended(span, m, o, err)
}

// ended records the end of a submit, and returns the caller's result.
func (s *Submitter) ended(span tracing.Span, m message.Message, o message.Outcome, err error) (message.Outcome, error) {
	endSpan(span, m, o, err)
	if err != nil {
		s.metrics.Submitted(message.OutcomeOf(err), "")
		return message.Outcome{}, err
	}
	s.metrics.Submitted(o, s.Policies.Label(o))
	return o, nil
}

// endSpan ends the span of a submit with its outcome, or its error.
func endSpan(span tracing.Span, m message.Message, o message.Outcome, err error) {
	if !span.Recording() {
		return
	}
	if err != nil {
		o = message.OutcomeOf(err)
		span.Fail(string(o.Code))
	}
	span.EndSubmit(tracing.Submitted{
		ID: o.ID, Outcome: o.Outcome, Code: string(o.Code), Category: m.Category, SendAt: o.SendAt.Time,
		Replayed: o.Replayed, Shifted: o.Shifted,
	})
}

func (s *Submitter) submit(ctx context.Context, m message.Message) (message.Outcome, error) {
	sub, o, err := s.prepare(ctx, m, nil)
	if sub == nil {
		return o, err
	}
	return s.complete(ctx, sub)
}

// count counts the outcome of a submit.
func (s *Submitter) count(account string, o message.Outcome) {
	switch {
	case o.Outcome == message.Accepted && !o.Replayed: // what is replaced was counted
		s.activity.Accepted(account, s.clock.Now())
	case o.Outcome == message.Refused:
		s.activity.Refused(account, s.clock.Now(), cmp.Or(s.Policies.Label(o), string(o.Code)))
	}
}

// enqueue puts an accepted message into the queue.
func (s *Submitter) enqueue(ctx context.Context, m message.Message, o message.Outcome, judgement judgement) {
	switch now := judgement.decision.Now; {
	case !o.Submitted():
	case o.Replayed:
		s.enqueueAgain(ctx, o.User, o.ID, o.SendAt.Sub(now), now)
	default:
		s.timers.Set(ctx, sendlimit.Timer{
			User: o.User, ID: o.ID, Generation: judgement.generation, Due: o.SendAt.Time,
			Origin: sendlimit.Origin{Account: m.Account, Campaign: m.Campaign},
		}, now)
		s.timers.Unset(ctx, judgement.decision.Superseded, now)
	}
}

// enqueueAgain puts a message into the queue for a caller that repeats a change. The queue may lack
// the message: the store may have failed after the change, before the caller got an answer. If the
// message is due before the relay checks it, it would be late.
func (s *Submitter) enqueueAgain(ctx context.Context, user, id string, dueIn time.Duration, now time.Time) {
	if dueIn > s.lookAfter {
		return
	}
	queued, pending, err := s.records.Timer(ctx, user, id)
	if err != nil {
		s.logger.WarnContext(ctx, "could not look whether the queue has a message: the watch list has it", "error", err)
		return
	}
	if pending {
		s.timers.Set(ctx, queued, now)
	}
}

// charged returns the reserve of a message to a user that is charged to an account, a throttle or
// both. A payer without a name is no account.
func (s *Submitter) charged(user string, p backend.Payer) *chargedReserve {
	return &chargedReserve{holder: s.charger, records: s.records, payer: p, clock: s.clock.OfUser(user), rules: s.Policies.Rules()}
}

// Check returns the answer that Submit would give, and writes nothing.
func (s *Submitter) Check(ctx context.Context, m message.Message) (message.Outcome, error) {
	return s.check(ctx, m, nil)
}

func (s *Submitter) check(ctx context.Context, m message.Message, replaces *sendlimit.Replacement) (message.Outcome, error) {
	m = s.message(m)
	timeline, err := s.Timeline(ctx)
	if err != nil {
		return message.Outcome{}, err
	}
	var p backend.Payer
	if m.Account != "" {
		if p, err = s.charger.payers.Active(ctx, m.Account); err != nil {
			return badAccount(err, m)
		}
	}
	return untilSameZone(func() (message.Outcome, error) {
		m := resolve(s.Policies.Rules(), m, s.clock.OfUser(m.User).Now())
		charged := s.checked(m.User, p, timeline)
		o, judgement := s.judge(ctx, m, replaces, timeline, charged.reserve)
		explainCharge(&o, judgement.decision, m.Category, charged.refused, p)
		o.Day = dayOf(charged.charged, charged.kept)
		if judgement.err != nil {
			return o, judgement.err
		}
		return o, s.addLocal(ctx, &o, m)
	})
}

// Cancel cancels a message that is not being sent yet.
func (s *Submitter) Cancel(ctx context.Context, user, id string) (message.Outcome, error) {
	return s.CancelFrom(ctx, user, id, time.Time{})
}

// CancelFrom cancels a message if its send time is still from, see runFrom.
func (s *Submitter) CancelFrom(ctx context.Context, user, id string, from time.Time) (message.Outcome, error) {
	return s.release(ctx, user, id, from, "")
}

// DropFrom is CancelFrom for a message that is dropped for a reason.
func (s *Submitter) DropFrom(ctx context.Context, user, id string, from time.Time, reason string) (message.Outcome, error) {
	return s.release(ctx, user, id, from, reason)
}

// release cancels a message, or drops it for a reason.
func (s *Submitter) release(ctx context.Context, user, id string, from time.Time, dropped string) (message.Outcome, error) {
	t, err := s.Timeline(ctx)
	if err != nil {
		return message.Outcome{}, err
	}
	var d sendlimit.Decision
	changed := s.change(user, id)
	err = s.replicas.secure(ctx, t, user, func(t *sendlimit.Timeline) (bool, error) {
		var err error
		d, err = changed.runFrom(ctx, from, func(h *sendlimit.Hold, from time.Time) (sendlimit.Decision, error) {
			return t.Release(ctx, sendlimit.ReleaseRequest{User: user, ID: id, Hold: h, From: from, Dropped: dropped})
		}, changed.holdRelease)
		switch {
		case err != nil, !d.Allowed, d.Replayed:
		case dropped == "":
			s.activity.Cancelled(changed.charged, d.Now)
		default:
			s.activity.Dropped(changed.charged, d.Now, dropped)
		}
		return d.Allowed, err
	})
	s.timers.Unset(ctx, d.Superseded, d.Now)
	if err != nil {
		return message.InvalidOr(err, user, id)
	}
	o := outcomeOf(d, message.Cancelled, user, id)
	if d.Allowed {
		o.SendAt = message.Time{}
	}
	return o, s.explainEnded(ctx, &o)
}
