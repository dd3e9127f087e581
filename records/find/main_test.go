package find_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// stock is a store of messages, and its index.
type stock struct {
	*testing.T

	client   redis.UniversalClient
	keys     keyspace.Keys
	timeline *sendlimit.Timeline
	index    *find.Index
	watch    *messages.WatchList
	now      time.Time
}

func newStock(t *testing.T, client redis.UniversalClient, o sendlimit.Options) *stock {
	t.Helper()
	o.Records, o.Rules = true, story.RulesBy(t, story.PolicyOf(t, "1/minute"))
	s := &stock{T: t, client: client, keys: story.KeysOf(o), now: time.Now().UTC().Truncate(time.Second)}
	var err error
	s.timeline, err = sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	s.index = find.NewIndex(client, keyspace.KeysUnder(o.Prefix), o.WithoutIndex)
	s.watch, err = messages.NewWatchList(client, o)
	require.NoError(t, err)
	return s
}

// what is a message to submit.
type what struct {
	user, id, campaign, category, account string
	after                                 time.Duration
}

func (s *stock) submit(w what) {
	s.Helper()
	r := sendlimit.Request{
		User: w.user, ID: w.id, At: s.now.Add(time.Hour + w.after), Category: w.category,
		Record: &sendlimit.Record{Generation: keyspace.NewToken(), Campaign: w.campaign, Fingerprint: w.campaign + w.category},
	}
	if w.account != "" {
		r.Hold = &sendlimit.Hold{Account: w.account, Attempt: keyspace.NewToken(), NotAfter: s.now.Add(time.Hour)}
	}
	d, err := s.timeline.Reserve(s.Context(), r)
	require.NoError(s, err)
	require.True(s, d.Allowed, "%+v: %+v", w, d)
}

// lose removes the record of a message, as its expiry does.
func (s *stock) lose(user, id string) {
	s.Helper()
	require.NoError(s, s.client.Del(s.Context(), s.keys.Record(user, id)).Err())
}

// entries returns how many entries the index has for a message.
func (s *stock) entries(user, id string) int {
	s.Helper()
	count := 0
	for _, key := range slices.Compact(s.keys.IndexKeys(user, id)) {
		err := s.client.ZScore(s.Context(), key, keyspace.IndexMember(user, id)).Err()
		if err == nil {
			count++
		} else {
			require.ErrorIs(s, err, redis.Nil)
		}
	}
	return count
}

// all lists what a filter wants, in pages, as "user id".
func (s *stock) all(wanted find.Filter, limit int, between func()) []string {
	s.Helper()
	var found []string
	for cursor := ""; ; {
		page, err := s.index.Page(s.Context(), wanted, cursor, limit)
		require.NoError(s, err)
		require.LessOrEqual(s, len(page.Messages), limit)
		for _, m := range page.Messages {
			found = append(found, nameOf(m))
		}
		if cursor = page.Next; cursor == "" {
			return found
		}
		if between != nil {
			between()
		}
	}
}

func nameOf(m messages.Info) string { return m.User + " " + m.ID }

// atOnce makes calls without a rest.
func atOnce(_ context.Context, batch func() error) error { return batch() }

func userOf(n int) string { return fmt.Sprintf("user-%d", n) }
