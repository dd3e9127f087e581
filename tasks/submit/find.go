package submit

import (
	"context"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/find"
)

// Find returns a page of the messages of all users that a filter wants, without their
// contents; see find.Index.Page. A Submitter that acts for an account finds only its messages.
func (s *Submitter) Find(ctx context.Context, f find.Filter, cursor string, limit int) (found []message.Status, next string, err error) {
	if s.account != "" {
		if f.Account != "" && f.Account != s.account {
			return nil, "", f.Check()
		}
		f.Account = s.account
	}
	page, err := s.index.Page(ctx, f, cursor, limit)
	if err != nil {
		return nil, "", err
	}
	found = make([]message.Status, len(page.Messages))
	for i, m := range page.Messages {
		found[i] = StatusOf(m)
	}
	return found, page.Next, nil
}
