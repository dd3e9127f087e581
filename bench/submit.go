package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	title = "Your order is on its way"
	body  = "It left the warehouse this morning and arrives tomorrow before noon."
)

// batchedPrefix keeps the messages of one side apart from the other's.
const batchedPrefix = "batched"

// measureSubmit compares Submitter.Submit of messages that are due later than the horizon,
// which is one script, with a bare Client.Enqueue with ProcessAt, and with what one would
// build by hand: three redis_rate.Allow, then Enqueue.
//
// The bare task carries the same content that Submit keeps in the record. Where Submit sends
// the scripts of concurrent callers together, the bare side does so with the automatic
// pipelines of the client library. Each caller waits for its own answer.
func measureSubmit(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, prefix := range []string{"", batchedPrefix} {
		if err := s.seedPolicy(ctx, prefix); err != nil {
			return nil, err
		}
	}
	each := 1 + (size.slices*size.submits+size.users-1)/size.users
	times := newSchedule(size.users, each)
	limiter := redis_rate.NewLimiter(s.client)
	client := asynq.NewClientFromRedisClient(s.client)

	ours := s.submitting("", submit.Options{}, times)
	together := s.submitting(batchedPrefix, submit.Options{Batch: true}, times)
	pipelines, err := s.filling()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pipelines.Close()) }()
	alone := func(context.Context, string) error { return nil }
	bare := enqueueing(client, "bare", times, alone)
	bareTogether := enqueueing(asynq.NewClientFromRedisClient(pipelines), "bare-together", times, alone)
	byHand := enqueueing(client, "by-hand", times, func(ctx context.Context, user string) error {
		return allow(ctx, limiter, user, threeLimits())
	})
	if err := s.interleave(ctx, size.slices, size.submits, ours, together, bare, bareTogether, byHand); err != nil {
		return nil, err
	}
	if err := s.checkQueued(ctx, size, "bare", "bare-together", "by-hand", queue.Name(""), queue.Name(batchedPrefix)); err != nil {
		return nil, err
	}

	// Refused are the users of the first requests; their reservations are in the way.
	refused := s.submittingInVain(times, min(size.users, size.slices*size.submits))
	if err := s.interleave(ctx, size.slices, size.submits, refused); err != nil {
		return nil, err
	}

	const what = "Submit of a message that is due later than the horizon, a second / "
	said := fmt.Sprintf("Submit %.0f/s, %s of Redis time in %.0f scripts", ours.rate(), ours.timing(), ours.series.runs)
	return []row{
		atLeast("submit-enqueue", what+"a bare asynq Enqueue with ProcessAt", ours.rateOver(bare), 0.6,
			said, fmt.Sprintf("Enqueue %.0f/s, %s", bare.rate(), bare.timing())),
		atLeast("submit-batched", "the same, where the calls of concurrent callers are sent together on both sides",
			together.rateOver(bareTogether), 0.6,
			fmt.Sprintf("Submit %.0f/s, %s of Redis time", together.rate(), together.timing()),
			fmt.Sprintf("Enqueue %.0f/s, %s", bareTogether.rate(), bareTogether.timing())),
		atLeast("submit-by-hand", what+"three Allow and Enqueue", ours.rateOver(byHand), 1,
			said, fmt.Sprintf("three Allow and Enqueue %.0f/s, %s", byHand.rate(), byHand.timing())),
		state("submit-refusal", "a refusal of Submit with both free times / a bare Enqueue",
			fmt.Sprintf("%.2f × a second", refused.rateOver(bare)),
			fmt.Sprintf("refused Submit %.0f/s, %s of Redis time", refused.rate(), refused.timing())),
	}, nil
}

// seedPolicy stores the default policy, as a worker does at its start.
func (s *store) seedPolicy(ctx context.Context, prefix string) error {
	return seedPolicy(ctx, s.client, prefix)
}

func seedPolicy(ctx context.Context, client redis.UniversalClient, prefix string) error {
	policies := settings.NewPolicies(client, keyspace.KeysUnder(prefix))
	if _, err := policies.Seed(ctx, policy.Default()); err != nil {
		return fmt.Errorf("seed the policy: %w", err)
	}
	return nil
}

// submitting submits a message for each request, without an id: the product makes one.
// Every slice has its own Submitter, whose Close waits for the confirms.
func (s *store) submitting(prefix string, options submit.Options, times *schedule) *side {
	return s.submittingFor("", prefix, options, times)
}

// openSubmitter opens a submitter under a prefix, "" for the default one.
func (s *store) openSubmitter(prefix string, options submit.Options) (*submit.Submitter, error) {
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: prefix}})
	if err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	return submit.New(opened, options)
}

// submittingFor is submitting for an account, "" for none.
func (s *store) submittingFor(account, prefix string, options submit.Options, times *schedule) *side {
	to := &turns{schedule: times}
	return &side{prepare: func(n int) (slice, error) {
		requests := to.take(n)
		submitter, err := s.openSubmitter(prefix, options)
		if err != nil {
			return slice{}, fmt.Errorf("submitter: %w", err)
		}
		return slice{
			do: func(ctx context.Context, i int) error {
				return submitted(ctx, submitter, message.Message{
					User: requests[i].User, SendAt: requests[i].At, Title: title, Body: body, Account: account,
				})
			},
			finish: submitter.Close,
		}, nil
	}}
}

func submitted(ctx context.Context, submitter *submit.Submitter, m message.Message) error {
	o, err := submitter.Submit(ctx, m)
	if err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	if o.Outcome != message.Accepted {
		return fmt.Errorf("submit: %s, where every time is free: %s", o.Outcome, o.Detail)
	}
	return nil
}

// submittingInVain submits close to the first message of each of the users, and is
// refused.
func (s *store) submittingInVain(times *schedule, users int) *side {
	const beside = 30 * time.Second
	next := 0
	return &side{prepare: func(n int) (slice, error) {
		requests := make([]sendlimit.Request, n)
		for i := range requests {
			requests[i] = times.request(next % users)
			next++
		}
		submitter, err := s.openSubmitter("", submit.Options{})
		if err != nil {
			return slice{}, fmt.Errorf("submitter: %w", err)
		}
		return slice{
			do: func(ctx context.Context, i int) error {
				o, err := submitter.Submit(ctx, message.Message{
					User: requests[i].User, SendAt: requests[i].At.Add(beside), Title: title, Body: body,
				})
				if err != nil {
					return fmt.Errorf("submit: %w", err)
				}
				if o.Outcome != message.Refused || o.NextFreeAt.IsZero() || o.PreviousFreeAt.IsZero() {
					return fmt.Errorf("submit: %s, where a refusal with both free times is due", o.Outcome)
				}
				return nil
			},
			finish: submitter.Close,
		}, nil
	}}
}

// push is the payload of a bare task.
type push struct {
	User  string `json:"user"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

// enqueueing enqueues a task for each request, if first allows it.
func enqueueing(client *asynq.Client, queue string, times *schedule, first func(ctx context.Context, user string) error) *side {
	to := &turns{schedule: times}
	return just(func(n int) operation {
		requests := to.take(n)
		return func(ctx context.Context, i int) error {
			r := requests[i]
			if err := first(ctx, r.User); err != nil {
				return err
			}
			return enqueueBare(ctx, client, queue, r)
		}
	})
}

// enqueueBare enqueues the message of a request, without a limit.
func enqueueBare(ctx context.Context, client *asynq.Client, queue string, r sendlimit.Request) error {
	payload, err := json.Marshal(push{User: r.User, Title: title, Body: body})
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	_, err = client.EnqueueContext(ctx, asynq.NewTask("push", payload), asynq.Queue(queue), asynq.ProcessAt(r.At))
	if err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	return nil
}

// checkQueued checks that each queue has every task, and the schedule of ours every message:
// a submit or an enqueue that failed would have been answered sooner.
func (s *store) checkQueued(ctx context.Context, size sizes, queues ...string) error {
	want := int64(size.slices * size.submits)
	for _, queue := range queues {
		have, err := s.client.ZCard(ctx, "asynq:{"+queue+"}:scheduled").Result()
		if prefix, ours := strings.CutSuffix(queue, ":push"); ours && err == nil {
			have, err = s.countScheduled(ctx, prefix)
		}
		if err != nil {
			return fmt.Errorf("count the tasks of %s: %w", queue, err)
		}
		if have != want {
			return fmt.Errorf("the queue %s has %d tasks of %d: some enqueues failed", queue, have, want)
		}
	}
	return nil
}

// countScheduled counts the messages under a prefix that have not ended.
func (s *store) countScheduled(ctx context.Context, prefix string) (int64, error) {
	watch, err := messages.NewWatchList(s.client, sendlimit.Options{Prefix: prefix, Records: true})
	if err != nil {
		return 0, err
	}
	pending, err := watch.Pending(ctx)
	return int64(pending), err
}
