package api

import (
	"context"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// A page that is not the last ends with a cursor, and a count that goes on with `more`. Both name
// the last message that was looked at, which may be another account's. So every one that leaves
// is sealed here, and opened here when it comes back.

// openCursors replaces the cursors of a query by what they say.
func (s *server) openCursors(ctx context.Context, q web.Query) error {
	for name, want := range map[string]string{
		"cursor": "the unchanged next_cursor of a page of the same list",
		"more":   "the unchanged value of more in the answer to a count of the same campaign",
	} {
		given := q[name]
		if given == "" {
			continue
		}
		sealer, err := s.Cursors.Sealer(ctx, s.Now())
		if err != nil {
			return err
		}
		opened, ok := sealer.Open(given)
		if !ok {
			return &fault.InvalidError{Field: name, Value: given, Want: want}
		}
		q[name] = opened
	}
	return nil
}

// sealed returns a cursor as the caller gets it; "" stays "". If the store has not answered, the
// request fails, see answered.
func (s *server) sealed(ctx context.Context, cursor string) string {
	if cursor == "" {
		return ""
	}
	sealer, err := s.Cursors.Sealer(ctx, s.Now())
	if err != nil {
		exchangeOf(ctx).unsealed = err
		return ""
	}
	return sealer.Seal(cursor)
}
