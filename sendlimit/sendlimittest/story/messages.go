package story

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Lease is the lease of a claim by Claim.
const Lease = 30 * time.Second

// Messages is alice with messages: reservations with records, and what delivers
// them. Tests choose the generations ("g1"). The fingerprint of a message is its
// content.
type Messages struct {
	*Alice

	Gate  *messages.Gate
	Watch *messages.WatchList
}

// NewMessages starts a store on which alice's messages are judged by rules; see
// PolicyOf.
func NewMessages(t *testing.T, rules ...string) *Messages {
	t.Helper()
	return TellMessages(t, sendlimit.Options{Rules: RulesBy(t, PolicyOf(t, rules...))})
}

// TellMessages starts a store on which alice's messages are judged under these
// options.
func TellMessages(t *testing.T, o sendlimit.Options) *Messages {
	t.Helper()
	o.Records = true
	s := &Messages{Alice: Tell(t, o)}
	var err error
	s.Gate, err = messages.NewGate(s.Client, o)
	require.NoError(t, err)
	s.Watch, err = messages.NewWatchList(s.Client, o)
	require.NoError(t, err)
	return s
}

// Submit reserves a place for a message.
func (s *Messages) Submit(id, when, generation, content string) sendlimit.Decision {
	s.Helper()
	return s.Ask(sendlimit.Request{ID: id, At: At(when), Record: RecordOf(generation, content)})
}

// SubmitShifting reserves a place for a message at a time or at the next free
// one.
func (s *Messages) SubmitShifting(id, when, generation string) sendlimit.Decision {
	s.Helper()
	return s.Ask(sendlimit.Request{ID: id, At: At(when), Shift: true, Record: RecordOf(generation, "text")})
}

// RecordOf returns the record of a message to submit.
func RecordOf(generation, content string) *sendlimit.Record {
	return &sendlimit.Record{Generation: generation, Fingerprint: content, Content: []byte(content)}
}

// MoveTo moves a message to another time and gives it a new generation.
func (s *Messages) MoveTo(id, when, generation string) sendlimit.Decision {
	s.Helper()
	d, err := s.Timeline.Move(s.Context(), sendlimit.MoveRequest{User: "alice", ID: id, At: At(when), Generation: generation})
	require.NoError(s, err)
	return d
}

// Field returns a field of a record. It is "" if the record does not have it.
func (s *Messages) Field(id, name string) string {
	s.Helper()
	return s.Server.HGet(KeysOf(s.Options).Record("alice", id), name)
}

// KeptFor returns how long a record is kept from now on. Zero means for ever, and
// a negative time that there is no record.
func (s *Messages) KeptFor(id string) time.Duration {
	s.Helper()
	key := KeysOf(s.Options).Record("alice", id)
	if !s.Server.Exists(key) {
		return -1
	}
	return s.Server.TTL(key)
}

// Watched requires that the watch list has exactly these entries: "generation/id"
// and the time of day when it is due.
func (s *Messages) Watched(wanted ...string) {
	s.Helper()
	entries := WatchedOf(s, s.Client, KeysOf(s.Options), "alice")
	var found []string
	byTime := func(a, b string) int { return cmp.Or(entries[a].Compare(entries[b]), strings.Compare(a, b)) }
	for _, member := range slices.SortedFunc(maps.Keys(entries), byTime) {
		user, id, generation, ok := keyspace.ParseWatchMember(member)
		require.True(s, ok, member)
		require.Equal(s, "alice", user)
		found = append(found, generation+"/"+id+" "+entries[member].Format("15:04:05.999"))
	}
	require.Equal(s, wanted, found)
}

// WatchedOf returns the entries of the watch list of a user's partition, near and far.
func WatchedOf(tb testing.TB, client redis.Cmdable, keys keyspace.Keys, user string) map[string]time.Time {
	tb.Helper()
	watched := make(map[string]time.Time)
	for _, list := range keys.WatchLists(keyspace.Partition(user)) {
		entries, err := client.ZRangeWithScores(tb.Context(), list, 0, -1).Result()
		require.NoError(tb, err)
		for _, e := range entries {
			member, ok := e.Member.(string)
			require.True(tb, ok)
			watched[member] = time.UnixMilli(int64(e.Score)).UTC()
		}
	}
	return watched
}

// BringNear brings near what is due soon after now, of a user's partition alone: a look at
// all of them takes the embedded store long. A zero now means the server's clock.
func BringNear(tb testing.TB, client redis.Scripter, keys keyspace.Keys, user string, now time.Time) {
	tb.Helper()
	lists := keys.WatchLists(keyspace.Partition(user))
	slices.Reverse(lists)
	at := any("")
	if !now.IsZero() {
		at = now.UnixMilli()
	}
	require.NoError(tb, lua.BringNear.Run(tb.Context(), client, lists, at, 1000).Err())
}

// Confirm confirms that the queue has the message "a".
func (s *Messages) Confirm(generation, due string) {
	s.Helper()
	BringNear(s, s.Client, KeysOf(s.Options), "alice", At(due)) // the queue gets nothing else
	require.NoError(s, s.Watch.Confirm(s.Context(), []sendlimit.Timer{
		{User: "alice", ID: "a", Generation: generation, Due: At(due)},
	}))
}

// Look returns the state of a message.
func (s *Messages) Look(id string) messages.Info {
	s.Helper()
	found, err := RecordsIn(s, s.Client, s.Options.Prefix).Look(s.Context(), "alice", id)
	require.NoError(s, err)
	require.Len(s, found, 1)
	return found[0]
}

// Claim claims a message for delivery.
func (s *Messages) Claim(id, generation, nonce string) messages.Claim {
	s.Helper()
	claim, err := s.Gate.Claim(s.Context(), messages.Delivery{
		User: "alice", ID: id, Generation: generation, Nonce: nonce,
	}, Lease, time.Time{})
	require.NoError(s, err)
	return claim
}

// Settle settles a claim. It reports whether the claim was still held.
func (s *Messages) Settle(id, generation, nonce string, settlement messages.Settlement) bool {
	s.Helper()
	held, err := s.Gate.Settle(s.Context(), messages.Delivery{
		User: "alice", ID: id, Generation: generation, Nonce: nonce,
	}, settlement, time.Time{})
	require.NoError(s, err)
	return held
}

// Categorized returns a record like RecordOf, with a category.
func Categorized(generation, category string) *sendlimit.Record {
	r := RecordOf(generation, "text")
	r.Category = category
	return r
}
