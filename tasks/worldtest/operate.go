package worldtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// untilDone repeats an operator's action until it succeeds, with another program if one is stopped.
func (w *world) untilDone(e Event, do func(ctx context.Context, c *caller) error) {
	ran := false
	for began := time.Now(); ; time.Sleep(time.Second) {
		c := w.caller()
		_, err := ask(c, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx, c) })
		if err == nil || w.isOver() {
			return
		}
		unavailable := &fault.UnavailableError{}
		known := errors.As(err, &unavailable) || errors.Is(err, errStopped) || errors.Is(err, context.DeadlineExceeded)
		if !known && !isRunning(err) {
			w.Errorf("%s: %v", e, err)
			return
		}
		ran = ran || isRunning(err)
		if time.Since(began) > patience && ran {
			return // the turn was taken while the clock of the store was ahead
		}
		if time.Since(began) > patience {
			w.Errorf("%s: no end: %v", e, err)
			return
		}
	}
}

// isRunning reports whether another program does the same, or something overtook it.
func isRunning(err error) bool {
	campaigns, refits, replaced := &campaign.RunningError{}, &refit.RunningError{}, &refit.PolicyReplacedError{}
	return errors.As(err, &campaigns) || errors.As(err, &refits) || errors.As(err, &replaced)
}

func (w *world) campaign(e Event) {
	of := campaign.Campaign{Name: e.Campaign}
	w.untilDone(e, func(ctx context.Context, c *caller) error {
		list := campaign.New(c.backend)
		var err error
		switch e.Do {
		case CancelCampaign:
			_, err = list.Cancel(ctx, c.Submitter, of, campaign.Watcher{})
		case MoveCampaign:
			_, err = list.Move(ctx, c.Submitter, of, e.By.Truncate(time.Second), campaign.Watcher{})
		case PauseCampaign:
			_, err = list.Pause(ctx, of, campaign.Counting{})
			if _, empty := errors.AsType[*fault.NoSuchError](err); empty {
				return nil
			}
		default:
			_, err = list.Resume(ctx, of, campaign.Watcher{})
		}
		return err
	})
	if e.Do == ResumeCampaign || e.Do == PauseCampaign { // what is due meanwhile waits
		w.story.noteAway(e.Do, "", w.at(e.At))
	}
}

// changeRules changes a policy, or which one a user has. One change is made at a time.
func (w *world) changeRules(e Event) {
	began := time.Now()
	var change RuleChange
	w.untilDone(e, func(ctx context.Context, c *caller) error {
		policies := settings.NewPolicies(c.client, keyspace.KeysUnder(""))
		switch e.Do {
		case ApplyPolicy:
			p, err := e.Policy.At(w.story.Began)
			if err != nil {
				return err
			}
			return policies.Apply(ctx, p)
		case Rollback:
			versions, err := policies.Versions(ctx, e.Name)
			if err != nil || len(versions) < 2 {
				return err
			}
			_, err = policies.Rollback(ctx, e.Name, versions[len(versions)-1].Version, settings.AnyVersion)
			return err
		default:
			users := settings.NewUsers(c.client, keyspace.KeysUnder(""))
			change.User = e.User
			switch e.Do {
			case SetPolicyOf:
				change.Settings = policy.UserSettings{Policy: e.Name}
			case Block:
				change.Settings = policy.UserSettings{Blocked: e.Lasts > 0}
			default:
				change.Settings = policy.UserSettings{}
				if e.Lasts > 0 {
					change.Settings.OptOut = []string{CategoryNews}
				}
			}
			return users.Set(ctx, e.User, change.Settings)
		}
	})
	change.Began, change.Ended, change.Policies = began, time.Now(), w.stored()
	w.story.changed(change)
	if (e.Do == Block || e.Do == OptOut) && e.Lasts > 0 {
		time.Sleep(e.Lasts)
		e.Lasts = 0 // as it was
		w.changeRules(e)
	}
}

// changeDevices registers devices of an account, or removes them, each of another user at the same time.
func (w *world) changeDevices(e Event) {
	var changing sync.WaitGroup
	for n := range min(e.Together, len(w.plan.Users)) {
		d := deviceOf(w.plan.Users[n].Name, e.Name)
		d.Account = e.Account
		changing.Go(func() {
			w.untilDone(e, func(ctx context.Context, c *caller) error {
				known := devices.New(c.client, keyspace.KeysUnder(""), devices.Options{})
				user := w.plan.Users[n].Name
				w.story.unanswered(1)
				var err error
				if e.Do == RemoveDevices {
					_, err = known.RemoveOf(ctx, e.Account, user, d.ID)
				} else {
					_, err = known.Add(ctx, user, d, MaxPhones)
				}
				if _, full := errors.AsType[*devices.AccountFullError](err); full {
					err = nil
				}
				if err == nil {
					w.story.unanswered(-1)
				}
				return err
			})
		})
	}
	changing.Wait()
}

// operate carries out an operator's action.
func (w *world) operate(e Event) {
	switch e.Do {
	case Refit:
		p := w.stored()[0]
		w.untilDone(e, func(ctx context.Context, c *caller) error {
			r, err := refit.New(c.backend, refit.Options{Options: submit.Options{}, Rest: func(context.Context, time.Duration) error { return nil }})
			if err != nil {
				return err
			}
			defer func() { _ = r.Close() }()
			action := message.RefitCancel
			if e.Shift {
				action = message.RefitShift
			}
			_, err = r.Run(ctx, p, action, refit.Watcher{})
			if _, replaced := errors.AsType[*refit.PolicyReplacedError](err); replaced {
				return nil // another policy came
			}
			return err
		})
	case Erase:
		w.untilDone(e, func(ctx context.Context, c *caller) error {
			users, err := userdata.New(c.backend)
			if err != nil {
				return err
			}
			erasure, err := users.Erase(ctx, e.User, 20*time.Second, nil)
			if err == nil && erasure.Running > 0 {
				return &fault.UnavailableError{Detail: "something runs"}
			}
			return err
		})
		w.story.answered(Answer{Event: e, Began: w.at(e.At), Ended: time.Now()})
		w.story.changed(RuleChange{Began: w.at(e.At), Ended: time.Now(), Policies: w.stored(), User: e.User})
	default:
		w.untilDone(e, func(ctx context.Context, c *caller) error {
			letters, err := deadletters.New(c.backend)
			if err != nil {
				return err
			}
			defer letters.Close()
			list, err := letters.List(ctx, deadletters.ListRequest{Limit: 100})
			if err != nil {
				return err
			}
			for _, m := range list {
				if _, err := letters.Retry(ctx, m.User, m.ID); err != nil {
					return err
				}
			}
			return nil
		})
		require.False(w, w.isOver())
	}
}
