package submit

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Contents returns the contents of a user's messages, in the order of the ids. The content
// of a message that is delivered, unknown or another account's is empty.
func (s *Submitter) Contents(ctx context.Context, user string, ids ...string) ([]message.Content, error) {
	contents := make([]message.Content, len(ids))
	if len(ids) == 0 {
		return contents, nil
	}
	statuses, err := s.Statuses(ctx, user, ids...) // which checks names and hides other accounts' messages
	if err != nil {
		return nil, err
	}
	texts := make([]*redis.StringCmd, len(ids))
	_, err = s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			texts[i] = pipe.HGet(ctx, s.keys.Record(user, id), keyspace.RecordContent)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, store.Explain(err, "reading messages")
	}
	for i, text := range texts {
		if text.Val() == "" || statuses[i].Status == "" {
			continue
		}
		if contents[i], err = message.DecodeContent([]byte(text.Val())); err != nil {
			return nil, err
		}
	}
	return contents, nil
}
