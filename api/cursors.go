package api

import (
	"context"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// A cursor and `more` name the last message that was looked at, which may be another account's. So
// they are sealed before they are sent, and opened when they come back.

// openCursors replaces the sealed cursors of a query by their contents.
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

// sealed returns a cursor for the caller; "" stays "". If the store does not answer, the request
// fails, see answered.
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
