package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// UserProgress tells how far an export or an erasure is.
	UserProgress = message.UserProgress
	// UserEntry is an entry of an exported user.
	UserEntry = message.UserEntry
	// UserExport is the end of an export.
	UserExport = message.UserExport
	// UserErasure counts what was removed of a user.
	UserErasure = message.UserErasure
)

// UserDataEvent is an event of an export or an erasure. One of its fields is set.
type UserDataEvent struct {
	Progress *UserProgress
	Entry    *UserEntry   // of an export
	Exported *UserExport  // the last event of an export, but for an error
	Erased   *UserErasure // the last event of an erasure, but for an error
}

// ExportUser yields everything that is stored about a user. The key needs the scope admin;
// it is shown the content of other accounts' messages only with the scope content. The last
// event is the summary, or else an error, which is ErrNotFound if nothing is stored.
//
// The API exports or erases one user at a time; others are retried as Options say. After
// its first event an export is not retried.
func (c *Client) ExportUser(ctx context.Context, user string) iter.Seq2[UserDataEvent, error] {
	return c.userData(ctx, call{doing: "exporting a user", method: http.MethodGet}, user, "/export")
}

// EraseUser cancels a user's messages, and removes everything that is stored about the
// user. It can't be undone, and goes on if you leave the loop. It waits at most wait, up to
// 10 minutes, for messages that are being delivered. If Running of the summary is not zero,
// the queue still has the user's name: erase again in a few minutes. Erasing again is safe.
func (c *Client) EraseUser(ctx context.Context, user string, wait time.Duration) iter.Seq2[UserDataEvent, error] {
	what := call{doing: "erasing a user", method: http.MethodDelete, query: values("wait", wait.String())}
	return c.userData(ctx, what, user, "")
}

func (c *Client) userData(ctx context.Context, what call, user, below string) iter.Seq2[UserDataEvent, error] {
	return func(yield func(UserDataEvent, error) bool) {
		if user == "" {
			yield(UserDataEvent{}, fmt.Errorf("%s: %w", what.doing, invalid("user", "is missing")))
			return
		}
		what.path = "/v1/users/" + segment(user) + below
		yieldEvents(ctx, c, what, yield, decodeUserData)
	}
}

func decodeUserData(outcome string, line []byte) (event UserDataEvent, summary bool, err error) {
	switch outcome {
	case message.UserProgressing:
		err = json.Unmarshal(line, &event.Progress)
	case message.UserEntryFound:
		err = json.Unmarshal(line, &event.Entry)
	case message.UserExported:
		summary = true
		err = json.Unmarshal(line, &event.Exported)
	case message.UserErased:
		summary = true
		err = json.Unmarshal(line, &event.Erased)
	default:
		err = errUnknownKind
	}
	return event, summary, err
}
