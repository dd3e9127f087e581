package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Session is somebody who has logged in to the dashboard.
	Session = message.Session
	// SessionEnd is the answer to a session that was ended.
	SessionEnd = message.SessionEnd
)

const sessionsPath = "/v1/sessions"

// Sessions returns who is logged in to the dashboard. Both calls about sessions need a key with the
// scope admin.
func (c *Client) Sessions(ctx context.Context) ([]Session, error) {
	answer, err := answerTo[message.Sessions](ctx, c, call{doing: "listing sessions", method: http.MethodGet, path: sessionsPath}, nil)
	return answer.Sessions, err
}

// EndSession ends a session. ErrNotFound may mean that an earlier try, whose answer got lost, ended
// it.
func (c *Client) EndSession(ctx context.Context, id string) (SessionEnd, error) {
	if id == "" {
		return SessionEnd{}, fmt.Errorf("ending a session: %w", invalid("session", "is missing"))
	}
	return answerTo[SessionEnd](ctx, c, call{doing: "ending a session", method: http.MethodDelete, path: sessionsPath + "/" + segment(id)}, nil)
}
