package notifiertest

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Delivery is one call of a Recorder's Notify, successful or not.
type Delivery struct {
	Notification notifier.Notification
	At           time.Time // when Notify was called
}

// Recorder is a notifier.Notifier that keeps everything in memory. By default it delivers
// at once. Make one with NewRecorder.
type Recorder struct {
	now        func() time.Time
	deliveries *journal[Delivery]

	mu     sync.Mutex
	script []notifier.Result
	answer func(context.Context, notifier.Notification) notifier.Result
}

// NewRecorder returns a Recorder that gets times from now.
func NewRecorder(now func() time.Time) *Recorder {
	return &Recorder{now: now, deliveries: newJournal[Delivery]()}
}

// Script adds results for the next calls, in order. They come after those already scripted
// and before AnswerWith.
func (r *Recorder) Script(results ...notifier.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = append(r.script, results...)
}

// AnswerWith calls answer for every call without a scripted result, concurrently. answer
// may block, as a provider may. Nil delivers.
func (r *Recorder) AnswerWith(answer func(context.Context, notifier.Notification) notifier.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Notify records the call, then answers. If ctx has already ended, it returns a Retry and
// records nothing: nothing was delivered.
func (r *Recorder) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	if err := ctx.Err(); err != nil {
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnreachable, Err: err}
	}
	r.deliveries.add(Delivery{Notification: n, At: r.now()})
	result, answer := r.next()
	if answer != nil {
		return answer(ctx, n)
	}
	return result
}

func (r *Recorder) next() (notifier.Result, func(context.Context, notifier.Notification) notifier.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.script) > 0 {
		result := r.script[0]
		r.script = r.script[1:]
		return result, nil
	}
	return notifier.Result{Status: notifier.Delivered}, r.answer
}

// Deliveries returns the calls so far, in the order they came.
func (r *Recorder) Deliveries() []Delivery { return r.deliveries.all() }

// Wait returns the calls so far once there are at least n. The error is ctx's, with the
// number that came.
func (r *Recorder) Wait(ctx context.Context, n int) ([]Delivery, error) {
	return r.deliveries.wait(ctx, n)
}
