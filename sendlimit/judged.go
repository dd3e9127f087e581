package sendlimit

import (
	"context"
	"fmt"
)

// mostJudged is how often a script is called that finds other settings of the user
// each time: more often than anybody changes them.
const mostJudged = 4

// judged calls a script with what a user's messages are judged by as far as is
// known, and again with what the script says is set by now: it does nothing before
// that is as it was told. It returns the answer and what it was given by.
func judged(
	ctx context.Context, book *rulebook, user, doing string, call func(userRules) (reply, error),
) (reply, userRules, error) {
	for range mostJudged {
		by := book.of(user)
		answer, err := call(by)
		if err != nil {
			return nil, userRules{}, err
		}
		if len(answer) < 2 || answer[0] != any(int64(statusSettingsChanged)) {
			return answer, by, nil
		}
		values, err := settingsIn(read(answer, doing))
		if err != nil {
			return nil, userRules{}, err
		}
		if err := book.learn(user, values); err != nil {
			return nil, userRules{}, fmt.Errorf("%s: %w", doing, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, userRules{}, Unavailable(err, doing)
		}
	}
	return nil, userRules{}, &UnavailableError{Detail: "the settings of the user change faster than they can be read: try again"}
}

// settingsIn reads the settings that a script has found, as
// lua/fragments/settings.lua gives them.
func settingsIn(in *replyReader) (map[string]string, error) {
	_ = in.time(1)
	values := make(map[string]string, (len(in.reply)-2)/2)
	for i := 2; i < len(in.reply); i += 2 {
		values[in.string(i)] = in.string(i + 1)
	}
	return values, in.err
}
