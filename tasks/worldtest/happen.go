package worldtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// happen carries out an event, to its end.
func (w *world) happen(e Event) {
	switch e.Do {
	case Submit, DryRun:
		var submitting sync.WaitGroup
		for n := range max(1, e.Together) {
			one := e
			if e.Together > 1 {
				one.ID = fmt.Sprintf("%s-%d", e.ID, n)
			}
			submitting.Go(func() { w.submit(one) })
		}
		submitting.Wait()
	case SubmitFile:
		w.submitFile(e)
	case Change, Edit, Cancel:
		w.change(e)
	case Put:
		w.put(e)
	case CancelCampaign, ReopenCampaign, MoveCampaign, PauseCampaign, ResumeCampaign, StopSending, ApplyPolicy, Rollback, SetPolicyOf, Block, OptOut, OptOutOfAll, Disturb, Travel, Quieten,
		Refit, Erase, RetryDead, AddDevices, RemoveDevices, MovePhone:
		w.operate(e)
	default:
		w.fail(e)
	}
}

func (w *world) at(after time.Duration) time.Time {
	return w.story.Began.Add(after).UTC()
}

// message returns the message that an event submits.
func (w *world) message(e Event) message.Message { return e.Message(w.at, w.shiftUntil(e)) }

// submit submits a message, again if there is no answer, and once more at a free time that a
// refusal names.
func (w *world) submit(e Event) {
	m := w.message(e)
	a := w.request(e, m, e.Do == DryRun)
	next := a.Got.NextFreeAt.Time
	if !a.Got.PreviousFreeAt.IsZero() && len(e.ID)%2 == 0 {
		next = a.Got.PreviousFreeAt.Time
	}
	wait(w.Context(), time.Second) // the charge of what was refused is given back in the background
	if !e.Follow || a.Err != nil || next.Before(time.Now().Add(time.Second)) || a.Got.Outcome != message.Refused || next.IsZero() || next.After(w.latest(m.SendAt)) {
		return
	}
	m.ID, m.SendAt, m.Now, m.Window, m.Local, m.ExpiresAt, m.ShiftUntil = e.ID+"f", next, false, nil, nil, time.Time{}, time.Time{}
	e.ID, e.Do, e.SendAt, e.Window, e.Keeps, e.Expires = m.ID, Submit, next.Sub(w.story.Began), 0, false, 0
	w.requestAfter(e, m, a)
}

// latest bounds the send times of a world, so that it ends soon.
func (w *world) latest(sendAt time.Time) time.Time {
	if end := w.at(w.plan.Length + 30*w.plan.Unit); end.After(sendAt) {
		return end
	}
	return sendAt
}

// shiftUntil is the last time that a shift may choose; zero for the default.
func (w *world) shiftUntil(e Event) time.Time {
	if e.Until > 0 {
		return w.at(e.Until)
	}
	if !e.Shift || w.plan.Has(FullDays) {
		return time.Time{}
	}
	return w.latest(w.at(e.SendAt))
}

// request submits a message until there is an answer, or the caller is stopped. It notes the answer.
func (w *world) request(e Event, m message.Message, dry bool) Answer {
	a := Answer{Event: e, Message: m, Began: time.Now()}
	a.mark = w.mark()
	c := w.idle()
	defer w.release(c)
	if dry {
		o, err := ask(c, func(ctx context.Context) (message.Outcome, error) { return c.Check(ctx, m) })
		if err == nil {
			a.Dry = &o
		}
	}
	w.ask(c, &a, a.mark, func(c *caller, ctx context.Context) (message.Outcome, error) { return c.Submit(ctx, m) })
	w.story.answered(a)
	return a
}

// put replaces a message by another one, if it is pending.
func (w *world) put(e Event) {
	a := Answer{Event: e, Message: w.message(e), Began: time.Now()}
	w.ask(w.caller(), &a, w.mark(), func(c *caller, ctx context.Context) (message.Outcome, error) { return c.Put(ctx, a.Message) })
	w.story.answered(a)
}

// requestAfter submits a message at a free time that a refusal named.
func (w *world) requestAfter(e Event, m message.Message, refusal Answer) {
	a := Answer{Event: e, Message: m, Began: time.Now(), Free: true}
	c := w.idle()
	defer w.release(c)
	w.ask(c, &a, mark{refusal.end, w.scheduler.count()}, func(c *caller, ctx context.Context) (message.Outcome, error) { return c.Submit(ctx, m) })
	a.Alone = a.Alone && refusal.Alone
	w.story.answered(a)
}

// mark is a moment in the order of calls.
type mark struct {
	calls int
	own   int // from which call on those of the process are its own
}

func (w *world) mark() mark {
	n := w.scheduler.count()
	return mark{n, n}
}

// alone reports whether only one caller has changed anything since a moment.
func (w *world) alone(since mark, c *caller, user string) bool {
	for i, call := range w.scheduler.since(since.calls) {
		if call.Process == c.name && !call.Lost && since.calls+i >= since.own {
			continue
		}
		for _, name := range call.Names {
			if changes(name) && (len(call.Users) == 0 || slices.Contains(call.Users, user)) {
				return false
			}
		}
	}
	return true
}

// changes reports whether a call may use up room that requests need. Settling a hold only frees room.
func changes(name string) bool {
	switch name {
	case "place/reserve", "place/move", "place/release", "place/record_sent", "place/free_lost", "charge/hold",
		"message/claim", "message/settle", "message/revive", "message/purge", "refit/refit",
		"setting/policy_apply", "setting/policy_delete", "setting/settings_change":
		return true
	default:
		return false
	}
}

// patience is how long a request is repeated.
const patience = 30 * time.Minute

// ask makes a request, and repeats it while the store can't be used.
func (w *world) ask(c *caller, a *Answer, since mark, do func(*caller, context.Context) (message.Outcome, error)) {
	for {
		o, err := ask(c, func(ctx context.Context) (message.Outcome, error) { return do(c, ctx) })
		a.Got, a.Err, a.Ended = o, err, time.Now()
		if err == nil {
			a.Alone = !a.Unclear && w.alone(since, c, a.User)
			a.by, a.end = c.name, w.mark().calls
			return
		}
		a.Unclear = true
		unavailable := &fault.UnavailableError{}
		switch {
		case errors.Is(err, errStopped):
			if w.random.upTo(2) == 0 || w.isOver() {
				return // nobody repeats it
			}
			c = w.caller()
		case errors.As(err, &unavailable), errors.Is(err, context.DeadlineExceeded):
			if w.isOver() {
				return
			}
			if time.Since(a.Began) > patience {
				w.Errorf("%s: no answer: %v", a.Event, err)
				return
			}
			time.Sleep(500*time.Millisecond + time.Since(a.Began)/20) // a world in which none comes is to end
		default:
			w.Errorf("%s: %v", a.Event, err)
			return
		}
	}
}

func (w *world) isOver() bool {
	select {
	case <-w.end:
		return true
	default:
		return false
	}
}

// ask calls a function unless the caller is stopped meanwhile.
func ask[T any](c *caller, do func(context.Context) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	go func() {
		defer cancel()
		<-c.ready
		value, err := do(ctx)
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-c.died:
		var none T
		return none, errStopped
	}
}

// change moves, edits or cancels a message.
func (w *world) change(e Event) {
	a := Answer{Event: e, Began: time.Now(), Message: message.Message{ID: e.ID, User: e.User, SendAt: w.at(e.SendAt), ShiftUntil: w.shiftUntil(e)}}
	w.ask(w.caller(), &a, w.mark(), func(c *caller, ctx context.Context) (message.Outcome, error) {
		s := c.For(e.Account)
		if e.Do == Cancel {
			return s.Cancel(ctx, e.User, e.ID)
		}
		var p message.Patch
		if e.Title != "" {
			p.Edit.Title = &e.Title
		}
		if e.Do == Change {
			p.Move = &message.Move{At: w.at(e.SendAt)}
			if e.Shift {
				p.Move.OnConflict = message.OnConflictShift
				p.Move.ShiftUntil = w.shiftUntil(e)
			}
			shift(c.ahead[e.User], &p.Move.At, &p.Move.ShiftUntil)
		}
		o, err := s.Change(ctx, e.User, e.ID, p)
		return c.heard(e.User, o), err
	})
	w.story.answered(a)
}
