package judge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MaxCalls is the maximum number of calls of a script that finds changed settings each time. Nobody
// changes them that often.
const MaxCalls = 4

// Call is a call of a script that judges a user's messages.
type Call struct {
	Client redis.Scripter
	Script *lua.Script
	Doing  string // for errors
	User   string
	// LastKnown is for a message that was accepted before: if the policies can't be reloaded, the
	// last known ones judge it.
	LastKnown bool
	// At returns the send time whose rules apply; zero means now. So does a nil At.
	At func(by UserRules) time.Time
	// Zone is the time zone that the user must have, see Rules.Zone; "" for any. With another one the
	// error has ErrOtherZone in its chain, and nothing was done.
	Zone string
	// Best has the best hours that the user must have, see UserRules.Best; nil for any. With others
	// the error has ErrOtherHours in its chain, and nothing was done.
	Best *BestHours
	// Valid returns until when the call may be made, by the clock of Rules.UseUntil. The script
	// refuses to judge later; then Run asks again. nil means at any time.
	Valid func(ctx context.Context) (time.Time, error)
}

// ErrOtherZone is in the chain of the error for a user whose time zone is not Call.Zone. Rules.Zone
// has the present one.
var ErrOtherZone = errors.New("the time zone of a user has changed")

func otherZone(zone *time.Location) error {
	return &fault.UnavailableError{
		Detail: fmt.Sprintf("the user's time zone has changed to %s meanwhile: try again", zone), Err: ErrOtherZone,
	}
}

// until returns Call.Valid by the clock of the user's server, Unix ms; 0 for any time.
func (c Call) until(ctx context.Context, ahead keyspace.Ahead) (int64, error) {
	if c.Valid == nil {
		return 0, nil
	}
	until, err := c.Valid(ctx)
	if err != nil {
		return 0, err
	}
	return until.UnixMilli() + ahead.OfUser(c.User).Milliseconds(), nil
}

// Run makes the call with the user's last known settings. The function returns keys and arguments
// for the user's rules. If the script finds other settings, it does nothing else: Run learns them
// and calls it again. If they name an unknown policy, Run reloads the policies once; if the rules
// or Call.Valid are too old, each time. It returns the answer and the rules behind it.
func (b *Rulebook) Run(
	ctx context.Context, c Call, arguments func(by UserRules) (keys []string, args []any),
) (script.Reply, UserRules, error) {
	reloaded := false
	var until, when int64
	for range MaxCalls {
		by := b.Of(c.User)
		if c.Zone != "" && by.Rules.quietZone.String() != c.Zone {
			return nil, UserRules{}, fmt.Errorf("%s: %w", c.Doing, otherZone(by.Rules.quietZone))
		}
		if c.Best != nil && !c.Best.equal(by.Best()) {
			return nil, UserRules{}, fmt.Errorf("%s: %w", c.Doing, otherHours())
		}
		valid, err := c.until(ctx, b.owner.ahead)
		if err != nil {
			return nil, UserRules{}, err
		}
		by.user, by.until, by.valid, by.when = c.User, until, valid, when
		at := time.Time{}
		if c.At != nil {
			at = c.At(by)
		}
		by = by.At(at)
		keys, args := arguments(by)
		answer, err := script.Run(ctx, c.Client, c.Script, c.Doing, keys, args)
		if err != nil {
			return nil, UserRules{}, err
		}
		switch {
		case len(answer) < 2:
			return answer, by, nil
		case answer[0] == any(int64(StatusRulesOld)):
			if b, until, err = b.reload(ctx, c, script.Read(answer, c.Doing)); err != nil {
				return nil, UserRules{}, err
			}
			continue
		case answer[0] == any(int64(StatusOtherRules)):
			in := script.Read(answer, c.Doing)
			if when = in.Int(2); in.Err != nil {
				return nil, UserRules{}, in.Err
			}
			continue
		case answer[0] != any(int64(StatusSettingsChanged)):
			return answer, by, nil
		}
		values, err := SettingsIn(script.Read(answer, c.Doing))
		if err != nil {
			return nil, UserRules{}, err
		}
		unknown := b.Learn(c.User, values)
		if errors.Is(unknown, ErrUnknownPolicy) && !reloaded {
			reloaded = true
			book, err := b.owner.younger(ctx)
			if err != nil {
				return nil, UserRules{}, err
			}
			if book != b {
				b = book
				unknown = b.Learn(c.User, values)
			}
		}
		if unknown != nil {
			return nil, UserRules{}, fmt.Errorf("%s: %w", c.Doing, unknown)
		}
		if err := ctx.Err(); err != nil {
			return nil, UserRules{}, store.Explain(err, c.Doing)
		}
	}
	return nil, UserRules{}, &fault.UnavailableError{
		Detail: "the user's settings or the policies change faster than they can be read, or the store is too slow: try again in a moment",
	}
}

// reload returns the present policies for a call that found the rules too old, and until when they
// may judge. That time is by the clock of the node that answered, since the nodes of a cluster have
// different clocks.
func (b *Rulebook) reload(ctx context.Context, c Call, in *script.ReplyReader) (*Rulebook, int64, error) {
	_ = in.Int(0)
	now := in.Int(1)
	if in.Err != nil {
		return nil, 0, in.Err
	}
	if b.owner.tell != nil {
		b.owner.tell(c.User, time.UnixMilli(now))
	}
	book, err := b.owner.younger(ctx)
	switch {
	case err == nil:
		return book, now + MaxAge.Milliseconds(), nil
	case c.LastKnown && !errors.Is(err, fault.ErrClockStepped):
		return b, script.EndOfTime, nil
	default:
		return nil, 0, err
	}
}

// SettingsIn reads the settings that a script found, see lua/fragments/settings.lua.
func SettingsIn(in *script.ReplyReader) (map[string]string, error) {
	_ = in.Time(1)
	values := make(map[string]string, (len(in.Reply)-2)/2)
	for i := 2; i < len(in.Reply); i += 2 {
		values[in.String(i)] = in.String(i + 1)
	}
	return values, in.Err
}
