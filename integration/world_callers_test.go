package integration_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// followFreeTimes submits, now that nobody else does anything, for times of which many are taken.
// A free time that a refusal names is then accepted. All are cancelled in the end.
func (w *realWorld) followFreeTimes() {
	w.Helper()
	ask := func(e worldtest.Event) message.Outcome {
		for !w.Failed() {
			a := w.ask(e, worldOrder{Do: e.Do, Message: message.Message{
				ID: e.ID, User: e.User, SendAt: w.at(e.SendAt), Title: worldtest.FirstTitle, Category: e.Category, Account: e.Account,
			}})
			if a.Err == nil { // otherwise a caller died
				return a.Got
			}
		}
		return message.Outcome{}
	}
	var asked []worldtest.Event
	base := time.Since(w.story.Began).Truncate(time.Millisecond) + 10*time.Minute
	for n := range 20 {
		e := worldtest.Event{
			Do: worldtest.Submit, User: w.plan.Users[w.upTo(2)].Name, ID: fmt.Sprintf("free-%d", n), SendAt: base + time.Duration(w.upTo(6000))*time.Millisecond,
		}
		if w.plan.Has(worldtest.Categories) {
			e.Category = []string{worldtest.CategoryNone, worldtest.CategoryNews, worldtest.CategoryOffers}[w.upTo(3)]
		}
		if len(w.plan.Accounts) > 0 {
			e.Account = w.plan.Accounts[w.upTo(2)].Name
		}
		asked, w.plan.Events = append(asked, e), append(w.plan.Events, e)
		refused := ask(e)
		free := []time.Time{refused.NextFreeAt.Time, refused.PreviousFreeAt.Time}[w.upTo(2)]
		if free.IsZero() {
			continue
		}
		require.Eventually(w, func() bool { // the charge of what was refused is given back in the background
			holds, err := w.keysLike(w.keys.Prefix() + ":{p*}:holds")
			return err == nil && len(holds) == 0
		}, time.Minute, 10*time.Millisecond)
		e.ID, e.SendAt = e.ID+"f", free.Sub(w.story.Began)
		asked = append(asked, e)
		got := ask(e)
		require.Equal(w, message.Accepted, got.Outcome, "%s was named as free by %+v: %+v", free, refused, got)
	}
	for _, e := range asked {
		e.Do = worldtest.Cancel
		ask(e)
	}
}

// operate has a caller carry out an operator's action, again until it is done.
func (w *realWorld) operate(e worldtest.Event) {
	if e.Do == worldtest.Erase {
		w.countErasures(e.User, 1)
		defer w.countErasures(e.User, 1)
	}
	w.story.Operate(w, e, func(e worldtest.Event) (clear bool, err error) {
		// The queue gives up a task that a worker never learned of after a minute or two.
		for end, clear := time.Now().Add(3*time.Minute), true; ; clear = false {
			r, err := w.caller().ask(worldOrder{Do: e.Do, Event: e})
			switch {
			case err == nil && r.Err == "":
				return clear, nil
			case r.Full:
				return clear, &devices.AccountFullError{Account: e.Account}
			case err == nil && !r.Away || time.Now().After(end):
				w.Errorf("%s: %s: %v", e, r.Err, err)
				return false, errEnded
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// message returns the message that an event submits.
func (w *realWorld) message(e worldtest.Event) message.Message {
	return e.Message(w.at, w.at(w.latest()))
}

// submit submits a message, and once more at a free time that a refusal names.
func (w *realWorld) submit(e worldtest.Event) {
	m := w.message(e)
	a := w.ask(e, worldOrder{Do: e.Do, Message: m})
	next := a.Got.NextFreeAt.Time
	if !e.Follow || a.Got.Outcome != message.Refused || next.IsZero() || next.After(w.at(w.latest())) {
		return
	}
	m.ID, m.SendAt, m.Window, m.ExpiresAt = e.ID+"f", next, nil, time.Time{}
	e.ID, e.Do, e.Window, e.Expires = m.ID, worldtest.Submit, 0, 0
	w.ask(e, worldOrder{Do: worldtest.Submit, Message: m})
}

// ask has a caller do something, again until there is an answer, and notes it. What a dry run says
// is not compared: others may come before the submit.
func (w *realWorld) ask(e worldtest.Event, o worldOrder) worldtest.Answer {
	a := worldtest.Answer{Event: e, Message: o.Message, Began: time.Now()}
	if o.Do == worldtest.DryRun {
		_, _ = w.caller().ask(o) // it may end meanwhile
		o.Do = worldtest.Submit
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		r, err := w.caller().ask(o)
		a.Got, a.Err, a.Ended = r.Got, err, time.Now()
		if err == nil && r.Err == "" {
			break
		}
		a.Unclear = true
		if err == nil {
			a.Err = fmt.Errorf("%s", r.Err)
			if !r.Away {
				w.Errorf("%s: %s", e, r.Err)
				break
			}
		} else if w.upTo(2) == 0 {
			break // nobody repeats it
		}
		if time.Now().After(end) {
			w.Errorf("%s: no answer: %v", e, a.Err)
			break
		}
	}
	w.story.NoteAnswer(a)
	return a
}

// caller returns a caller that works, or was started.
func (w *realWorld) caller() *worldLife {
	for {
		first := w.upTo(len(w.callers))
		for i := range w.callers {
			if l := w.callers[(first+i)%len(w.callers)].last(); l != nil && !l.isOver() {
				return l
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}
