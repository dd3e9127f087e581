package judge

import (
	"context"
	"fmt"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// mostJudged is how often a script is called that finds other settings of the user
// each time: more often than anybody changes them.
const MostJudged = 4

// judged calls a script with what a user's messages are judged by as far as is
// known, and again with what the script says is set by now: it does nothing before
// that is as it was told. It returns the answer and what it was given by.
func Judged(
	ctx context.Context, book *Rulebook, user, doing string, call func(UserRules) (script.Reply, error),
) (script.Reply, UserRules, error) {
	for range MostJudged {
		by := book.Of(user)
		answer, err := call(by)
		if err != nil {
			return nil, UserRules{}, err
		}
		if len(answer) < 2 || answer[0] != any(int64(StatusSettingsChanged)) {
			return answer, by, nil
		}
		values, err := SettingsIn(script.Read(answer, doing))
		if err != nil {
			return nil, UserRules{}, err
		}
		if err := book.Learn(user, values); err != nil {
			return nil, UserRules{}, fmt.Errorf("%s: %w", doing, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, UserRules{}, store.Explain(err, doing)
		}
	}
	return nil, UserRules{}, &fault.UnavailableError{Detail: "the settings of the user change faster than they can be read: try again"}
}

// settingsIn reads the settings that a script has found, as
// lua/fragments/settings.lua gives them.
func SettingsIn(in *script.ReplyReader) (map[string]string, error) {
	_ = in.Time(1)
	values := make(map[string]string, (len(in.Reply)-2)/2)
	for i := 2; i < len(in.Reply); i += 2 {
		values[in.String(i)] = in.String(i + 1)
	}
	return values, in.Err
}
