package client

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// AuditEntry is a change that an operator made.
type AuditEntry = message.AuditEntry

// AuditRequest selects entries of the audit log: those to which all of it applies. The zero value
// selects all.
type AuditRequest struct {
	Account, User, Action, Object string
	From, Until                   time.Time // without Until; zero means no bound
	PageSize                      int       // entries per request, 1 to 500; zero means the API's default
}

// AuditLog yields the changes that operators made, the newest first. It asks for the next page when
// one is used up. With a key without the scope admin they are those of its account, and of
// operators with what is its. An error is the last thing that it yields.
func (c *Client) AuditLog(ctx context.Context, r AuditRequest) iter.Seq2[AuditEntry, error] {
	what := call{
		doing: "reading the audit log", method: http.MethodGet, path: "/v1/audit",
		query: values("account", r.Account, "user", r.User, "action", r.Action, "object", r.Object, "from", spell(r.From), "until", spell(r.Until), "limit", count(r.PageSize)),
	}
	return pages(ctx, what, func(ctx context.Context, what call) ([]AuditEntry, string, error) {
		var answer message.AuditEntries
		err := c.do(ctx, what, &answer)
		return answer.Entries, answer.NextCursor, err
	})
}
