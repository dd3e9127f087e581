package worldtest

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/userdata"
)

// Operator carries out the actions of operators in a process.
type Operator struct {
	Backend   *backend.Backend
	Client    redis.UniversalClient
	Submitter *submit.Submitter
	Began     time.Time // the story
}

// Do carries out an action once.
func (o Operator) Do(ctx context.Context, e Event) error {
	switch e.Do {
	case CancelCampaign, ReopenCampaign, MoveCampaign, PauseCampaign, ResumeCampaign:
		return o.campaign(ctx, e)
	case StopSending:
		return o.changeSending(ctx, e)
	case ApplyPolicy, Rollback:
		return o.changePolicy(ctx, e)
	case AddDevices, RemoveDevices, MovePhone:
		return o.changeDevice(ctx, e)
	case Refit:
		return o.refit(ctx, e.Shift)
	case Erase:
		return o.erase(ctx, e.User)
	case RetryDead:
		return o.retryDead(ctx)
	default:
		return o.changeSettings(ctx, e)
	}
}

// changeSettings gives a user settings, and does with messages what the event says. A worker continues it
// if that fails.
func (o Operator) changeSettings(ctx context.Context, e Event) error {
	users := settings.NewUsers(o.Client, o.Backend.Keys)
	if err := users.Set(ctx, e.User, e.changed()); err != nil {
		return err
	}
	stored, err := users.Get(ctx, e.User)
	if err != nil || !stored.Follows() {
		return err
	}
	r, err := o.refitter()
	if err != nil {
		return err
	}
	_, err = r.Follow(ctx, e.User, stored)
	return errors.Join(err, r.Close())
}

// changed returns the settings that an event gives a user, with what it asks for.
func (e Event) changed() policy.UserSettings {
	own := e.settings()
	own.Then = e.Then
	own.TimeZone = cmp.Or(e.Zone, own.TimeZone)
	return own
}

// settings returns the settings that an event gives a user.
func (e Event) settings() policy.UserSettings {
	switch {
	case e.Do == Quieten: // until the same time of each day
		from, until := in(e.Zone, e.Disturb.Add(-e.Lasts)), in(e.Zone, e.Disturb.Add(time.Minute))
		quiet, err := policy.ParseQuietHours(from.Format("15:04") + "-" + until.Format("15:04"))
		if err != nil {
			panic(err) // the story is wrong
		}
		return policy.UserSettings{QuietHours: quiet, TimeZone: "UTC"}
	case e.Do == SetPolicyOf:
		return policy.UserSettings{Policy: e.Name}
	case e.Do == Block:
		return policy.UserSettings{Blocked: e.Lasts > 0}
	case e.Do == Disturb:
		return policy.UserSettings{DoNotDisturbUntil: e.Disturb}
	case e.Do == OptOutOfAll && e.Lasts > 0:
		return policy.UserSettings{OptOut: []string{policy.AllCategories}}
	case e.Do == OptOut && e.Lasts > 0:
		return policy.UserSettings{OptOut: []string{CategoryNews}}
	default:
		return policy.UserSettings{}
	}
}

func (o Operator) campaign(ctx context.Context, e Event) error {
	list := campaign.New(o.Backend)
	var err error
	of := campaign.Campaign{Name: e.Campaign}
	switch e.Do {
	case CancelCampaign:
		_, err = list.Cancel(ctx, o.Submitter, of, campaign.Watcher{})
	case ReopenCampaign:
		_, err = list.Reopen(ctx, of, campaign.Counting{})
	case MoveCampaign:
		_, err = list.Move(ctx, o.Submitter, of, e.By.Truncate(time.Second), campaign.Watcher{})
	case PauseCampaign:
		_, err = list.Pause(ctx, of, campaign.Counting{})
	default:
		_, err = list.Resume(ctx, of, campaign.Watcher{})
	}
	if _, empty := errors.AsType[*fault.NoSuchError](err); empty {
		return nil
	}
	return err
}

func (o Operator) changeSending(ctx context.Context, e Event) error {
	states := channels.NewStore(o.Client, o.Backend.Keys)
	var err error
	if e.Lasts > 0 {
		_, _, err = states.StopSending(ctx, channels.SendingStop{Reason: "a world", By: "its operator"})
	} else {
		_, err = states.StartSending(ctx)
	}
	return err
}

func (o Operator) changePolicy(ctx context.Context, e Event) error {
	policies := settings.NewPolicies(o.Client, o.Backend.Keys)
	if e.Do == ApplyPolicy {
		p, err := e.Policy.At(o.Began)
		if err != nil {
			return err
		}
		return policies.Apply(ctx, p)
	}
	versions, err := policies.Versions(ctx, e.Name)
	if err != nil || len(versions) < 2 {
		return err
	}
	_, err = policies.Rollback(ctx, e.Name, versions[len(versions)-1].Version, settings.AnyVersion)
	return err
}

func (o Operator) changeDevice(ctx context.Context, e Event) error {
	known := devices.New(o.Client, o.Backend.Keys, devices.Options{})
	d := phoneOf(e.Name)
	if e.Do != MovePhone {
		d = deviceOf(e.User, e.Name)
		d.Account = e.Account
	}
	var err error
	if e.Do == RemoveDevices {
		_, err = known.RemoveOf(ctx, e.Account, e.User, d.ID)
	} else {
		_, err = known.Add(ctx, e.User, d, MaxPhones)
	}
	return err
}

func (o Operator) refitter() (*refit.Refitter, error) {
	return refit.New(o.Backend, refit.Options{Options: submit.Options{}, Rest: func(context.Context, time.Duration) error { return nil }})
}

func (o Operator) refit(ctx context.Context, shift bool) error {
	p, _, err := settings.NewPolicies(o.Client, o.Backend.Keys).Load(ctx, policy.DefaultName)
	if err != nil {
		return err
	}
	r, err := o.refitter()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	action := message.RefitCancel
	if shift {
		action = message.RefitShift
	}
	_, err = r.Run(ctx, p, action, refit.Watcher{})
	if _, replaced := errors.AsType[*refit.PolicyReplacedError](err); replaced {
		return nil // another policy came
	}
	return err
}

func (o Operator) erase(ctx context.Context, user string) error {
	users, err := userdata.New(o.Backend)
	if err != nil {
		return err
	}
	erasure, err := users.Erase(ctx, user, 20*time.Second, nil)
	if err == nil && erasure.Running > 0 {
		return &fault.UnavailableError{Detail: "something runs"}
	}
	return err
}

func (o Operator) retryDead(ctx context.Context) error {
	letters, err := deadletters.New(o.Backend)
	if err != nil {
		return err
	}
	defer letters.Close()
	list, _, err := letters.List(ctx, deadletters.ListRequest{Limit: 100})
	if err != nil {
		return err
	}
	for _, m := range list {
		if _, err := letters.Retry(ctx, m.User, m.ID); err != nil {
			return err
		}
	}
	return nil
}

// MayRepeat reports whether an action that failed may be tried again: the store can't be used, or
// another program does the same, or something overtook it.
func MayRepeat(err error) bool {
	unavailable := &fault.UnavailableError{}
	return errors.As(err, &unavailable) || errors.Is(err, context.DeadlineExceeded) || isRunning(err)
}

func isRunning(err error) bool {
	campaigns, refits, replaced := &campaign.RunningError{}, &refit.RunningError{}, &refit.PolicyReplacedError{}
	return errors.As(err, &campaigns) || errors.As(err, &refits) || errors.As(err, &replaced)
}
