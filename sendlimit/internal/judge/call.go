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

// MostCalls bounds how often a script is called that finds other settings of the
// user each time: nobody changes them as often.
const MostCalls = 4

// Call is a call of a script that judges a user's messages.
type Call struct {
	Client redis.Scripter
	Script *redis.Script
	Doing  string // for errors
	User   string
}

// Run makes the call by what is known of the user's settings, with the keys and
// arguments that the function makes of the user's rules. Where the script
// finds others it has done nothing else: they are learned, and the call is made
// again. Settings that name a policy that is not known have the policies reloaded
// once. Run returns the answer, and the rules that it was given by.
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

// SettingsIn reads the settings that a script has found, as
// lua/fragments/settings.lua gives them.
func SettingsIn(in *script.ReplyReader) (map[string]string, error) {
	_ = in.Time(1)
	values := make(map[string]string, (len(in.Reply)-2)/2)
	for i := 2; i < len(in.Reply); i += 2 {
		values[in.String(i)] = in.String(i + 1)
	}
	return values, in.Err
}
