package judge

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MostCalls is the most calls of a script that finds changed settings each time.
// Nobody changes them that often.
const MostCalls = 4

// Call is a call of a script that judges a user's messages.
type Call struct {
	Client redis.Scripter
	Script *redis.Script
	Doing  string // for errors
	User   string
}

// Run makes the call by the user's settings as last known. The function returns keys
// and arguments for the user's rules. If the script finds other settings, it does
// nothing else: Run learns them and calls it again. If they name an unknown policy,
// Run reloads the policies once. It returns the answer and the rules behind it.
func (b *Rulebook) Run(
	ctx context.Context, c Call, arguments func(by UserRules) (keys []string, args []any),
) (script.Reply, UserRules, error) {
	reloaded := false
	for range MostCalls {
		by := b.Of(c.User)
		keys, args := arguments(by)
		answer, err := script.Run(ctx, c.Client, c.Script, c.Doing, keys, args)
		if err != nil {
			return nil, UserRules{}, err
		}
		if len(answer) < 2 || answer[0] != any(int64(StatusSettingsChanged)) {
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
	return nil, UserRules{}, &fault.UnavailableError{Detail: "the settings of the user change faster than they can be read: try again"}
}

// SettingsIn reads the settings that a script found, see
// lua/fragments/settings.lua.
func SettingsIn(in *script.ReplyReader) (map[string]string, error) {
	_ = in.Time(1)
	values := make(map[string]string, (len(in.Reply)-2)/2)
	for i := 2; i < len(in.Reply); i += 2 {
		values[in.String(i)] = in.String(i + 1)
	}
	return values, in.Err
}
