package refit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// refitUsersAtOnce is how many users are judged in one round trip: few, since
// other callers wait meanwhile.
const refitUsersAtOnce = 16

// refitLook judges the reservations of one user, in one or several calls.
type refitLook struct {
	user    string
	by      judge.UserRules // of the current call
	parts   []judge.Part    // of the rules: each takes calls of its own
	answer  *redis.Cmd
	changes int // how often the settings had changed

	done    bool
	passed  bool   // the user has another policy
	unclear int    // 1 if that policy is unknown
	beside  bool   // it judges the places beside the timeline
	off     string // what the user has switched off, see lua/refit/refit.lua
	zone    string // the user's own, see lua/refit/refit.lua

	progress refitProgress
}

// refitProgress is the progress of a look.
type refitProgress struct {
	version string    // of the user's settings
	till    time.Time // of the last judged reservation
	after   string    // its id
	counted string    // the counts of the rules, for lua/refit/refit.lua
	part    int       // the index in judge.Ruleset.Parts
	judged  int
	misfits []Misfit
}

// look makes looks at users.
func (r *Finder) look(ctx context.Context, looks []*refitLook) ([]*refitLook, error) {
	if !r.own || r.follows {
		if err := r.throttle(ctx, func() error { return r.readSettings(ctx, looks) }); err != nil {
			return nil, err
		}
	}
	for {
		open := slices.DeleteFunc(slices.Clone(looks), func(l *refitLook) bool { return l.done })
		if len(open) == 0 {
			return looks, nil
		}
		if err := r.throttle(ctx, func() error { return r.call(ctx, open) }); err != nil {
			return nil, err
		}
	}
}

// readSettings reads the settings of users, to skip those with another policy. For the policy of
// most users the script reads them anyway.
func (r *Finder) readSettings(ctx context.Context, looks []*refitLook) error {
	found := make([]*redis.MapStringStringCmd, len(looks))
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, l := range looks {
			found[i] = pipe.HGetAll(ctx, r.keys.Settings(l.user))
		}
		return nil
	})
	if err != nil {
		return store.Explain(err, "reading the settings of users")
	}
	for i, l := range looks {
		r.learn(l, found[i].Val())
	}
	return nil
}

func (r *Finder) learn(l *refitLook, fields map[string]string) {
	if r.proposed != nil {
		fields = r.proposed.StoredFields(fields["v"])
	}
	if s, err := policy.ReadSettings(fields); err == nil && r.follows {
		l.off, l.zone = s.SwitchedOff(), s.TimeZone
	}
	if r.book.Learn(l.user, fields) != nil {
		l.pass(1) // they name an unknown policy, or a newer program wrote them
	}
}

func (l *refitLook) pass(unclear int) { l.done, l.passed, l.unclear = true, true, unclear }

// call makes the next call of each look, all in one round trip.
func (r *Finder) call(ctx context.Context, looks []*refitLook) error {
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, l := range looks {
			l.by, l.answer = r.book.Of(l.user), nil
			if l.progress.version != l.by.Version {
				l.progress = refitProgress{version: l.by.Version} // begin again under other rules
			}
			if l.by.Rules.Policy.Name != r.policy.Name {
				l.pass(0)
				continue
			}
			l.parts = l.by.Rules.Parts()
			l.by = l.by.At(l.parts[l.progress.part].Inside())
			keys, args := r.arguments(l)
			l.answer = pipe.EvalSha(ctx, lua.Refit.Hash(), keys, args...)
		}
		return nil
	})
	if err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
		return store.Explain(err, refitting)
	}
	for _, l := range looks {
		if l.answer == nil {
			continue
		}
		answer, err := l.answer.Slice()
		if redis.HasErrorPrefix(err, "NOSCRIPT") { // the server has restarted, or is another one
			keys, args := r.arguments(l)
			answer, err = lua.Refit.Run(ctx, r.client, keys, args...).Slice()
		}
		if err != nil {
			return store.Explain(err, refitting)
		}
		if err := r.read(l, script.Read(answer, refitting)); err != nil {
			return err
		}
	}
	return nil
}

const refitting = "judging the reservations of users"

func (r *Finder) arguments(l *refitLook) (keys []string, args []any) {
	places, zone := r.keys.Timeline(l.user), any(script.NoValue)
	if r.follows {
		zone = l.zone
	}
	if l.beside {
		places = r.keys.Uncounted(l.user)
	}
	return []string{places, r.keys.Settings(l.user)},
		append(l.by.Arguments(judge.Case{Now: r.now, Reach: r.reach}, 3),
			script.Milliseconds(l.progress.till), l.progress.counted, l.progress.after, l.off, zone)
}

// read reads the reply of a look.
func (r *Finder) read(l *refitLook, in *script.ReplyReader) error {
	if in.Int(0) == judge.StatusSettingsChanged {
		l.changes++
		if l.changes > judge.MaxCalls {
			return fmt.Errorf("%s: %w", refitting, &fault.UnavailableError{
				Detail: "the settings of a user change faster than they can be read: try again",
			})
		}
		values, err := judge.SettingsIn(in)
		if err != nil {
			return err
		}
		r.learn(l, values)
		return nil
	}
	now, judged, till, counted, after := in.Time(1), in.Int(2), in.Time(3), in.String(4), in.String(5)
	p := &l.progress
	for i := 6; i < len(in.Reply); i++ {
		m, err := l.misfit(in.Nested(i))
		if err != nil {
			return err
		}
		p.misfits = append(p.misfits, m)
	}
	switch {
	case in.Err != nil:
		return in.Err
	case in.Int(0) != judge.StatusAllowed || judged < 0 || now.IsZero():
		return script.ReplyError(refitting, fmt.Sprintf("status %d", in.Int(0)))
	case !till.IsZero() && (till.Before(p.till) || till.Equal(p.till) && after == p.after):
		return script.ReplyError(refitting, "the next call would start at the same place")
	}
	p.judged += int(judged)
	p.till, p.counted, p.after = till, counted, after
	l.changes = 0
	if l.done = till.IsZero(); l.done && p.part+1 < len(l.parts) {
		l.done, p.part = false, p.part+1
	}
	return nil
}

func (l *refitLook) misfit(in *script.ReplyReader) (Misfit, error) {
	m := Misfit{User: l.user, Reservation: keyspace.Reservation{ID: in.String(0), At: in.Time(1)}, Category: in.String(3)}
	m.ExpiresAt = in.Time(4)
	number := int(in.Int(2))
	scope := l.by.Rules.Scope(m.Category)
	switch {
	case in.Err != nil:
		return m, in.Err
	case number == -1:
		m.Disturbs = true
		return m, nil
	case number == -2:
		m.Off = messages.ReasonBlocked
		return m, nil
	case number == -3:
		m.Off = messages.ReasonOptedOut
		return m, nil
	case number == -4:
		if m.Local = message.DecodeLocal(in.String(5)); m.Local == nil {
			return m, script.ReplyError(refitting, "a local time that can't be read")
		}
		return m, nil
	case number < 0 || number > scope.Count():
		return m, script.ReplyError(refitting, fmt.Sprintf("rule %d", number))
	case number > 0:
		m.Rule, m.RuleCategory = scope.Rule(number)
		return m, nil
	}
	if m.Quiet = scope.QuietPeriod(m.At); m.Quiet == nil {
		return m, script.ReplyError(refitting, "quiet hours at a time that has none")
	}
	return m, nil
}
