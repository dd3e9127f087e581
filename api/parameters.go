package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Parts that several operations accept, see inputs.
type (
	nothing struct{}
	ofUser  struct {
		User string `path:"user"`
	}
	ofAccount struct {
		Account string `path:"account"`
	}
	ofTier struct {
		Tier string `path:"tier"`
	}
	ofPolicy struct {
		Policy string `path:"policy"`
	}
	ofEvent struct {
		Event string `path:"event"`
	}
	ofMessage struct {
		User string `path:"user"`
		ID   string `path:"id"`
	}
)

type pageByName struct {
	Limit  int            `query:"limit" usual:"100" most:"1000" doc:"Entries a page."`
	Cursor web.NameCursor `query:"cursor"`
}

// readPage returns a page of a list by name, with each entry described, and the cursor of the next
// page. read gets the name after which the page begins, "" for the first page, and the maximum
// number of entries. It returns the name of the last one.
func readPage[E, D any](
	ctx context.Context, s *server, p pageByName, read func(ctx context.Context, after string, limit int) ([]E, string, error), describe func(E) D,
) (page []D, next string, err error) {
	all, last, err := read(ctx, string(p.Cursor), p.Limit)
	if err != nil {
		return nil, "", err
	}
	page = make([]D, len(all)) // not nil: its JSON is an array
	for i, entry := range all {
		page[i] = describe(entry)
	}
	return page, s.sealed(ctx, web.NameCursor(last).String()), nil
}

// byAge selects entries to remove by age. The age is required: without one, a mistake would remove
// everything.
type byAge struct {
	OlderThan age `query:"older_than" required:"true" example:"7d" doc:"Removes entries that ended longer ago than this, such as 7d or 36h by the store's clock. 0s removes all."`
	Limit     int `query:"limit" usual:"1000" most:"1000" doc:"Maximum number to remove."`
}

// age is the time since something ended.
type age time.Duration

// UnmarshalText reads the parameter older_than.
func (a *age) UnmarshalText(text []byte) error {
	length, err := calendar.ParseDuration(string(text))
	if err != nil || length < 0 {
		return &fault.InvalidError{Field: "older_than", Value: string(text), Want: "a length of time such as 90m, 36h or 7d, or 0s for all"}
	}
	*a = age(length)
	return nil
}

// purgesAgain documents the answer to a request that removes by age.
const purgesAgain = "Send the request again while the answer has `more`."

// purgeOlder removes by age.
func (s *server) purgeOlder(purge func(ctx context.Context, before time.Time, limit int) (int, bool, error)) func(context.Context, byAge) (message.DeadPurge, error) {
	return func(ctx context.Context, in byAge) (message.DeadPurge, error) {
		now, err := s.DeadLetters.Now(ctx)
		if err != nil {
			return message.DeadPurge{}, err
		}
		purged, more, err := purge(ctx, now.Add(-time.Duration(in.OlderThan)), in.Limit)
		return message.DeadPurge{Purged: purged, More: more}, err
	}
}

// meant is the parameter account: the account whose messages or events a request is about. The
// default is the caller's account, which may be "". A confined caller reaches only its own.
type meant struct {
	name  string
	given bool
}

func (*meant) schema() *huma.Schema { return parameterSchema("account") }

// UnmarshalText reads the parameter.
func (m *meant) UnmarshalText(text []byte) error {
	m.name, m.given = string(text), true
	return nil
}

// by returns the account that the request is about.
func (m meant) by(ctx context.Context) (string, error) {
	own := callerOf(ctx).account()
	switch {
	case !m.given || m.name == own && own != "":
		return own, nil
	case callerOf(ctx).confined():
		return "", forbidden(accounts.ScopeAdmin)
	case !accounts.ValidName(m.name):
		return "", &fault.InvalidError{Field: "account", Value: m.name, Want: keyspace.WantName}
	}
	return m.name, nil
}

// overlapOf reads how long the replaced key or secret still works.
func overlapOf(text string) (time.Duration, error) {
	if text == "" {
		return accounts.DefaultOverlap, nil
	}
	return accounts.ParseOverlap(text)
}
