package integration_test

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// crashStore is what the store has of some users.
type crashStore struct {
	client redis.UniversalClient
	keys   keyspace.Keys
}

func newCrashStore(t *testing.T, client redis.UniversalClient, prefix string) crashStore {
	t.Helper()
	keys, err := keyspace.NewKeys(prefix)
	require.NoError(t, err)
	return crashStore{client, keys}
}

// userState is a user's part of the store at one moment.
type userState struct {
	user    string
	ids     []string                     // that its messages may have
	now     time.Time                    // by the store's clock
	records map[string]map[string]string // by id
	places  map[string]int64             // send times by id, Unix ms
	watched map[string]int64             // when to look, Unix ms, by watch member
	dead    map[string]int64             // when they ended, Unix ms, by dead-letter member

	indexed, campaigns map[string][]int64 // scores in the index, by id; one for each part with an entry
}

// Record states, as lua/fragments/record.lua has them.
const (
	statePending   = ""
	stateSending   = "s"
	stateDelivered = "d"
	stateCancelled = "c"
	stateDropped   = "x"
	stateFailed    = "f"
	stateUncertain = "u"
)

// state reads a user's part, with the records of the named ids, at one moment.
func (s crashStore) state(t *testing.T, user string, names []string) userState {
	t.Helper()
	var places, uncounted, dead *redis.ZSliceCmd
	var lists, ids, campaigns []*redis.ZSliceCmd
	records := make([]*redis.MapStringStringCmd, len(names))
	// Before the rest: by then nothing more may be overdue. All nodes have the same clock.
	now, err := s.client.Time(t.Context()).Result()
	require.NoError(t, err)
	_, err = s.client.TxPipelined(t.Context(), func(pipe redis.Pipeliner) error {
		places = pipe.ZRangeWithScores(t.Context(), s.keys.Timeline(user), 0, -1)
		uncounted = pipe.ZRangeWithScores(t.Context(), s.keys.Uncounted(user), 0, -1)
		for _, list := range s.keys.WatchLists(keyspace.Partition(user)) {
			lists = append(lists, pipe.ZRangeWithScores(t.Context(), list, 0, -1))
		}
		dead = pipe.ZRangeWithScores(t.Context(), s.keys.DeadLettersOf(user), 0, -1)
		for part := range keyspace.IndexParts {
			ids = append(ids, pipe.ZRangeWithScores(t.Context(), s.keys.IDs(keyspace.Partition(user), part), 0, -1))
			campaigns = append(campaigns, pipe.ZRangeWithScores(t.Context(), s.keys.Campaigns(keyspace.Partition(user), part), 0, -1))
		}
		for i, id := range names {
			records[i] = pipe.HGetAll(t.Context(), s.keys.Record(user, id))
		}
		return nil
	})
	require.NoError(t, err)
	watched := make(map[string]int64)
	for _, list := range lists {
		maps.Copy(watched, scoresOf(list.Val()))
	}
	u := userState{
		user: user, ids: names, indexed: indexedOf(user, ids), campaigns: indexedOf(user, campaigns), now: now, records: make(map[string]map[string]string),
		places: scoresOf(places.Val()), watched: watched, dead: scoresOf(dead.Val()),
	}
	for i, id := range names {
		if record := records[i].Val(); len(record) > 0 {
			u.records[id] = record
		}
	}
	for id, at := range scoresOf(uncounted.Val()) {
		if u.records[id]["z"] != "" {
			u.places[id] = at
		} else {
			u.places[id+" beside"] = at // which has no record
		}
	}
	return u
}

func scoresOf(entries []redis.Z) map[string]int64 {
	scores := make(map[string]int64)
	for _, e := range entries {
		scores[fmt.Sprint(e.Member)] = int64(e.Score)
	}
	return scores
}

// indexedOf returns the scores of a user's entries in the parts of the index, by id.
func indexedOf(user string, parts []*redis.ZSliceCmd) map[string][]int64 {
	scores := make(map[string][]int64)
	for _, part := range parts {
		for member, score := range scoresOf(part.Val()) {
			if of, id, ok := keyspace.ParseIndexMember(member); ok && of == user {
				scores[id] = append(scores[id], score)
			}
		}
	}
	return scores
}

// campaignScores returns the scores that a record should have in the index of the campaigns.
func campaignScores(record map[string]string) []int64 {
	campaign := record[keyspace.RecordCampaign]
	if campaign == "" {
		return nil
	}
	account, _, _ := strings.Cut(record[keyspace.RecordCharge], " ")
	return []int64{keyspace.CampaignScore(strings.TrimPrefix(account, "."), campaign)}
}

// number reads a field of a record, Unix ms; 0 if it is absent.
func (u userState) number(t *testing.T, id, field string) int64 {
	t.Helper()
	text, ok := u.records[id][field]
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err, "%s/%s: %s", u.user, id, field)
	return n
}

// isFormerPlace reports whether a place is kept for one of the user's messages that may have arrived
// there, as lua/fragments/former_place.lua names it. It needs no record.
func (u userState) isFormerPlace(name string) bool {
	at := u.places[name]
	return at <= u.now.UnixMilli() && slices.ContainsFunc(u.ids, func(id string) bool {
		digest := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%s/%d", id, at))) //nolint:names // an id, not a signature
		return name == "purged-"+digest[:20]
	})
}

// faults lists what must never be there, after any crash: a place without a message, a
// message that has not ended without a place or a watch entry, or a watch entry without
// a message.
func (u userState) faults(t *testing.T) []string {
	t.Helper()
	var found []string
	fault := func(id, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s/%s: at %d %s: record %q",
			u.user, id, u.now.UnixMilli(), fmt.Sprintf(format, args...), u.records[id]))
	}
	watched := 0
	for id, record := range u.records {
		at, placed := u.places[id]
		member := keyspace.WatchMember(u.user, id, record["g"])
		_, watches := u.watched[member]
		if watches {
			watched++
		}
		switch record["s"] {
		case statePending, stateSending:
			// A message past its expiry needs no place any more.
			if expiry := u.number(t, id, "x"); !placed && (expiry == 0 || u.now.UnixMilli() < expiry) {
				fault(id, "has not ended and has no place")
			}
			if !watches {
				fault(id, "has not ended and nobody looks after it")
			}
		case stateFailed, stateUncertain:
			if ended, ok := u.dead[keyspace.DeadLetterMember(u.user, id)]; !ok || ended != u.number(t, id, "e") {
				fault(id, "is not among the dead letters, where it ended at %d", ended)
			}
			fallthrough
		default:
			if watches {
				fault(id, "has ended and is still looked after")
			}
		}
		switch record["s"] {
		case stateCancelled, stateDropped, stateFailed:
			if placed {
				fault(id, "keeps its place")
			}
		default:
			if placed && at != u.number(t, id, "t") {
				fault(id, "has its place at %d", at)
			}
		}
	}
	for id, record := range u.records {
		if scores := u.indexed[id]; !slices.Equal(scores, []int64{keyspace.IDScore(id)}) {
			fault(id, "has these scores in the index of the ids: %v", scores)
		}
		if scores, want := u.campaigns[id], campaignScores(record); !slices.Equal(scores, want) {
			fault(id, "has these scores in the index of the campaigns, which should be %v: %v", want, scores)
		}
	}
	for _, index := range []map[string][]int64{u.indexed, u.campaigns} {
		for id := range index {
			if u.records[id] == nil {
				fault(id, "is in the index and has no record")
			}
		}
	}
	for id := range u.places {
		if u.records[id] == nil && !u.isFormerPlace(id) {
			fault(id, "has a place and no record")
		}
	}
	own := 0
	for member := range u.watched {
		if strings.HasSuffix(member, "/"+u.user) {
			own++
		}
	}
	if own != watched {
		fault("", "%d watch entries of nothing: %v", own-watched, u.watched)
	}
	return found
}

// A place that is kept for a message that may have arrived is no fault, and any other without a
// record is one.
func TestFormerPlacesAreKnown(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "2/10m")
	s.Submit("doubt", "11:00", "d1", "text")
	s.Until("11:00")
	require.Equal(t, messages.Send, s.Claim("doubt", "d1", "n1").Verdict)
	s.Settle("doubt", "d1", "n1", messages.Settlement{
		Outcome: messages.Retried, Reason: "timeout", Retry: messages.Retry{Generation: "again", At: story.At("11:05"), Uncertain: true},
	})
	s.Until("11:01")
	require.True(t, s.Release("doubt").Allowed)

	store := crashStore{s.Client, story.KeysOf(s.Options)}
	state := func(ids ...string) userState {
		u := store.state(t, "alice", ids)
		u.now = s.Now
		return u
	}
	require.Len(t, state("doubt").places, 1)
	require.Empty(t, state("doubt").faults(t))
	require.Len(t, state().faults(t), 2, "of an id that nobody gave, which is in the index")
	for name := range state("doubt").places {
		require.NoError(t, s.Client.ZIncrBy(t.Context(), story.KeysOf(s.Options).Timeline("alice"), 1, name).Err())
	}
	require.Len(t, state("doubt").faults(t), 1, "at another time")
}
