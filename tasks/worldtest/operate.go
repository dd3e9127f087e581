package worldtest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Operate has an operator's action carried out, and notes its effects. do repeats it until it is
// done, or the world ends, and returns its error. clear is false if an attempt before failed.
func (s *Story) Operate(tb testing.TB, e Event, do func(Event) (clear bool, err error)) {
	tb.Helper()
	began := time.Now()
	switch e.Do {
	case AddDevices, RemoveDevices:
		var changing sync.WaitGroup // each of another user at the same time
		for n := range min(e.Together, len(s.Plan.Users)) {
			one := e
			one.User = s.Plan.Users[n].Name
			changing.Go(func() { _ = s.changeDevice(one, do) })
		}
		changing.Wait()
		return
	case StopSending:
		_, _ = do(e)
		silent := Away{What: StopSending, From: time.Now()}
		time.Sleep(e.Lasts)
		silent.Until, e.Lasts = time.Now(), 0
		_, _ = do(e)
		s.noteAway(e.Do, "", began)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.silences = append(s.silences, silent)
		return
	case MovePhone:
		if err := s.changeDevice(e, do); !isFull(err) {
			s.registered(Registration{User: e.User, Phone: e.Name, Began: began, Ended: time.Now(), Err: err})
		}
		return
	default:
		if e.Do == Disturb || e.Do == Quieten {
			e.Disturb = began.Add(e.Lasts).UTC().Truncate(time.Millisecond)
		}
		_, err := do(e)
		s.noteEffect(tb, e, began, err)
	}
	if e.Lasts > 0 && (e.Do == Block || e.Do == OptOut || e.Do == OptOutOfAll) {
		time.Sleep(e.Lasts)
		e.Lasts = 0 // as it was
		s.Operate(tb, e, do)
	}
}

// noteEffect notes an action that began at a time, and has ended.
func (s *Story) noteEffect(tb testing.TB, e Event, began time.Time, err error) {
	tb.Helper()
	switch e.Do {
	case CancelCampaign, ReopenCampaign:
		s.changedCampaign(CampaignChange{Event: e, Began: began, Ended: time.Now(), Done: err == nil && s.hasEnded(tb, e.Campaign) == (e.Do == CancelCampaign)})
	case PauseCampaign, ResumeCampaign: // what is due meanwhile waits
		s.noteAway(e.Do, "", began)
	case Erase:
		s.answered(Answer{Event: e, Began: began, Ended: time.Now()})
		s.changed(RuleChange{Began: began, Ended: time.Now(), Policies: stored(tb, s), User: e.User})
	case ApplyPolicy, Rollback:
		s.changed(RuleChange{Began: began, Ended: time.Now(), Policies: stored(tb, s)})
	case SetPolicyOf, Block, OptOut, OptOutOfAll, Disturb, Travel, Quieten:
		s.changed(RuleChange{Began: began, Ended: time.Now(), Policies: stored(tb, s), User: e.User, Settings: e.changed()})
	default:
	}
}

// hasEnded reports whether a campaign has ended: one without messages can't.
func (s *Story) hasEnded(tb testing.TB, name string) bool {
	tb.Helper()
	since, err := messages.NewEnds(s.Client, keyspace.KeysUnder("")).Since(tb.Context(), messages.Campaign{Name: name})
	return err == nil && !since.IsZero()
}

// changeDevice registers or removes a device. If an attempt failed, nobody knows what it did.
func (s *Story) changeDevice(e Event, do func(Event) (clear bool, err error)) error {
	s.unanswered(1)
	clear, err := do(e)
	if clear && (err == nil || isFull(err)) {
		s.unanswered(-1)
	}
	return err
}

func isFull(err error) bool {
	_, full := errors.AsType[*devices.AccountFullError](err)
	return full
}

// operate carries out an operator's action until it succeeds, with another program if one is stopped.
func (w *world) operate(e Event) {
	w.story.Operate(w, e, func(e Event) (clear bool, err error) {
		ran := false
		for began, clear := time.Now(), true; ; clear = false {
			c := w.caller()
			_, err := ask(c, func(ctx context.Context) (struct{}, error) {
				o := Operator{Backend: c.backend, Client: c.client, Submitter: c.Submitter, Began: w.story.Began}
				return struct{}{}, o.Do(ctx, e)
			})
			if err == nil || isFull(err) || w.isOver() {
				return clear, err
			}
			if !MayRepeat(err) && !errors.Is(err, errStopped) {
				w.Errorf("%s: %v", e, err)
				return false, err
			}
			ran = ran || isRunning(err)
			if time.Since(began) > patience {
				if !ran { // the turn was taken while the clock of the store was ahead
					w.Errorf("%s: no end: %v", e, err)
				}
				return false, err
			}
			time.Sleep(time.Second)
		}
	})
}
