package find_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

func TestMessagesAreFoundByWhatTheyHaveInCommon(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	clients := map[string]redis.UniversalClient{"real": redistest.Real(t).Client(), "cluster": redistest.RealCluster(t).Client()}
	_, clients["embedded"] = redistest.Embedded(t)
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			s := newStock(t, client, sendlimit.Options{})
			s.submit(what{user: "alice", id: "same", campaign: "spring", category: "news", account: "acme"})
			s.submit(what{user: "alina", id: "same", campaign: "spring", account: "other", after: time.Hour})
			s.submit(what{user: "bob", id: "b", campaign: "autumn", category: "news", after: 2 * time.Hour})
			s.submit(what{user: "zoë:/~", id: "own:id"})
			move := sendlimit.MoveRequest{User: "bob", ID: "b", At: s.now.Add(5 * time.Hour), Generation: keyspace.NewToken()}
			d, err := s.timeline.Move(t.Context(), move)
			require.NoError(t, err)
			require.True(t, d.Allowed)
			d, err = s.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "zoë:/~", ID: "own:id"})
			require.NoError(t, err)
			require.True(t, d.Allowed)
			at := func(hours int) time.Time { return s.now.Add(time.Duration(hours) * time.Hour) }
			for i, row := range []struct {
				wanted find.Filter
				found  string
			}{
				{find.Filter{}, "alice same, alina same, bob b, zoë:/~ own:id"},
				{find.Filter{ID: "same"}, "alice same, alina same"},
				{find.Filter{Campaign: "spring", User: "alina"}, "alina same"},
				{find.Filter{ID: "same", Account: "other"}, "alina same"},
				{find.Filter{ID: "same", User: "alice"}, "alice same"},
				{find.Filter{ID: "none"}, ""},
				{find.Filter{Campaign: "spring"}, "alice same, alina same"},
				{find.Filter{Campaign: "spring", Account: "acme"}, "alice same"},
				{find.Filter{Campaign: "spring", ID: "same", Account: "acme"}, "alice same"},
				{find.Filter{Campaign: "Spring"}, ""},
				{find.Filter{Category: "news"}, "alice same, bob b"},
				{find.Filter{Account: "acme"}, "alice same"},
				{find.Filter{Status: "scheduled"}, "alice same, alina same"},
				{find.Filter{Status: "moved"}, "bob b"},
				{find.Filter{Status: "cancelled"}, "zoë:/~ own:id"},
				{find.Filter{Status: "failed"}, ""},
				{find.Filter{From: at(1), Until: at(2)}, "alice same, zoë:/~ own:id"},
				{find.Filter{From: at(2)}, "alina same, bob b"},
				{find.Filter{Until: at(1)}, ""},
				{find.Filter{User: "bob"}, "bob b"},
				{find.Filter{User: "ali"}, ""},
				{find.Filter{UserPrefix: "ali"}, "alice same, alina same"},
				{find.Filter{UserPrefix: "ali", Category: "news"}, "alice same"},
			} {
				if i > 2 && name != "embedded" {
					break
				}
				found := s.all(row.wanted, 1000, nil)
				slices.Sort(found)
				require.Equal(t, row.found, strings.Join(found, ", "), "%+v", row.wanted)
			}
		})
	}
}

// Messages that are there from the first page to the last are listed once, while others
// come, move, end and are forgotten.
func TestPagesStayRightWhileMessagesChange(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var stay, lost []what
	for n := range 300 {
		w := what{user: userOf(n % 7), id: fmt.Sprint("m", n), campaign: "c", account: "acme", after: time.Duration(n) * time.Minute}
		s.submit(w)
		if n%3 == 0 {
			lost = append(lost, w)
		} else {
			stay = append(stay, w)
		}
	}
	var staying []string
	for _, w := range stay {
		staying = append(staying, w.user+" "+w.id)
	}
	slices.Sort(staying)
	added := 0
	change := func() {
		w := stay[random.IntN(len(stay))]
		if random.IntN(2) == 0 {
			_, err := s.timeline.Move(t.Context(), sendlimit.MoveRequest{
				User: w.user, ID: w.id, At: s.now.Add(time.Duration(1000+random.IntN(1000)) * time.Minute), Generation: keyspace.NewToken(),
			})
			require.NoError(t, err)
		} else {
			_, err := s.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: w.user, ID: w.id})
			require.NoError(t, err)
		}
		added++
		s.submit(what{user: userOf(added % 9), id: fmt.Sprint("new", added), campaign: "c", account: "acme", after: time.Duration(2000+added) * time.Minute})
		if len(lost) > 0 {
			s.lose(lost[0].user, lost[0].id)
			s.submit(what{user: lost[0].user, id: fmt.Sprint("again", added), campaign: "c", after: time.Duration(4000+added) * time.Minute})
			lost = lost[1:]
			if len(lost)%25 == 0 {
				_, err := s.index.Sweep(t.Context(), s.watch, atOnce)
				require.NoError(t, err)
			}
		}
	}
	for _, wanted := range []find.Filter{{}, {Campaign: "c"}, {Campaign: "c", Account: "acme"}} {
		found := s.all(wanted, 11, change)
		slices.Sort(found)
		require.Equal(t, found, slices.Compact(slices.Clone(found)), "none twice: %+v", wanted)
		require.Subset(t, found, staying, "%+v", wanted)
	}
}

// Many entries have the same score. A page may begin between them, also when the entry is gone
// at which the page before ended.
func TestPagesOfManyMessagesWithTheSameID(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	const id, many = "newsletter", 3000
	partition := keyspace.Partition("x")
	_, shard := keyspace.IndexPartsOf("x", id)
	users := make([]string, 0, many)
	pipe := client.Pipeline()
	for n := 0; len(users) < many; n++ {
		user := userOf(n)
		if keyspace.Partition(user) != partition {
			continue
		}
		users = append(users, user+" "+id)
		pipe.HSet(t.Context(), s.keys.Record(user, id), "g", "g", "t", s.now.UnixMilli())
		pipe.ZAdd(t.Context(), s.keys.IDs(partition, shard), redis.Z{
			Score: float64(keyspace.IDScore(id)), Member: keyspace.IndexMember(user, id),
		})
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	slices.Sort(users)
	for _, limit := range []int{7 * many / 10, 700} {
		found := s.all(find.Filter{ID: id}, min(limit, find.MaxPage), nil)
		slices.Sort(found)
		require.Equal(t, users, found)
	}

	page, err := s.index.Page(t.Context(), find.Filter{ID: id}, "", 1000)
	require.NoError(t, err)
	last := page.Messages[999]
	s.lose(last.User, id)
	swept, err := s.index.Sweep(t.Context(), s.watch, atOnce)
	require.NoError(t, err)
	require.Equal(t, 1, swept.Removed)
	found := make([]string, 0, many)
	for _, m := range page.Messages {
		found = append(found, nameOf(m))
	}
	for cursor := page.Next; cursor != ""; cursor = page.Next {
		page, err = s.index.Page(t.Context(), find.Filter{ID: id}, cursor, 1000)
		require.NoError(t, err)
		for _, m := range page.Messages {
			found = append(found, nameOf(m))
		}
	}
	slices.Sort(found)
	require.Equal(t, users, found)
}

// A page ends when it has looked at enough, though it has found nothing.
func TestAPageThatFindsNothingEnds(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	s.submit(what{user: "alice", id: "a"})
	pipe := client.Pipeline()
	for n := range find.MaxLooked {
		pipe.ZAdd(t.Context(), s.keys.IDs(n%7, 1+n%keyspace.IndexShards), redis.Z{Score: float64(n), Member: fmt.Sprint("/a/", n)})
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	pages := 0
	found := s.all(find.Filter{UserPrefix: "alice"}, 10, func() { pages++ })
	require.Equal(t, []string{"alice a"}, found)
	require.Equal(t, 1, pages)
}

func TestPagesRefuse(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{})
	s.submit(what{user: "alice", id: "a", campaign: "c"})
	s.submit(what{user: "alice", id: "b", campaign: "c", after: time.Hour})
	for _, row := range []struct {
		wanted       find.Filter
		field, value string
		want         string
	}{
		{find.Filter{Status: "pending"}, "status", "pending", "one of scheduled, postponed, moved, sending, delivered, dropped, failed, uncertain, cancelled"},
		{find.Filter{ID: "a b"}, "id", "a b", "1 to 128 of A-Z a-z 0-9 . _ : -"},
		{find.Filter{Campaign: "a/b"}, "campaign", "a/b", "1 to 64 of a-z A-Z 0-9 . _ -"},
		{find.Filter{Category: "A"}, "category", "A", keyspace.WantName},
		{find.Filter{Account: "A"}, "account", "A", keyspace.WantName},
		{find.Filter{User: "\n"}, "user", "\n", keyspace.WantUser},
		{find.Filter{UserPrefix: "\xff"}, "user_prefix", "\xff", "1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends"},
	} {
		_, err := s.index.Page(t.Context(), row.wanted, "", 1)
		require.Equal(t, row.want, story.Invalid(t, err, row.field, row.value))
	}
	_, err := s.index.Page(t.Context(), find.Filter{User: "a", UserPrefix: "a"}, "", 1)
	require.EqualError(t, err, "user and user_prefix exclude each other")
	_, err = s.index.Page(t.Context(), find.Filter{From: s.now, Until: s.now}, "", 1)
	require.EqualError(t, err, "until must be after from")
	for _, limit := range []int{-1, 0, 1001} {
		_, err = s.index.Page(t.Context(), find.Filter{}, "", limit)
		require.Equal(t, "1 to 1000", story.Invalid(t, err, "limit", strconv.Itoa(limit)))
	}

	page, err := s.index.Page(t.Context(), find.Filter{Campaign: "c"}, "", 1)
	require.NoError(t, err)
	require.NotEmpty(t, page.Next)
	_, err = s.index.Page(t.Context(), find.Filter{Campaign: "d"}, page.Next, 1)
	require.EqualError(t, err, "the cursor is of a list with other filters: repeat those of the page that it came with, or leave the cursor out")
	good, err := base64.RawURLEncoding.DecodeString(page.Next)
	require.NoError(t, err)
	for _, change := range [][2]string{{`"l":`, `"l":-`}, {`"l":`, `"l":99999`}, {`"m":"/`, `"m":"x/`}, {`"s":`, `"s":1`}, {"{", ""}} {
		bad := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(good), change[0], change[1], 1)))
		_, err = s.index.Page(t.Context(), find.Filter{Campaign: "c"}, bad, 1)
		require.Equal(t, "the next_cursor of a page of the same list, as it is", story.Invalid(t, err, "cursor", bad), change)
	}
}

// Without the index, only messages with a campaign are found, by it.
func TestWithoutTheIndex(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	s := newStock(t, client, sendlimit.Options{WithoutIndex: true})
	s.submit(what{user: "alice", id: "a"})
	s.submit(what{user: "alice", id: "b", campaign: "c", after: time.Hour})
	require.Equal(t, 0, s.entries("alice", "a"))
	require.Equal(t, 1, s.entries("alice", "b"))
	require.Equal(t, []string{"alice b"}, s.all(find.Filter{Campaign: "c"}, 10, nil))
	for _, wanted := range []find.Filter{{}, {ID: "a"}, {ID: "b", Campaign: "c"}, {User: "alice"}} {
		_, err := s.index.Page(t.Context(), wanted, "", 1)
		require.ErrorIs(t, err, find.ErrIndexOff)
	}
	s.lose("alice", "b")
	swept, err := s.index.Sweep(t.Context(), s.watch, atOnce)
	require.NoError(t, err)
	require.Equal(t, 1, swept.Removed, "what is left is removed all the same")
}
