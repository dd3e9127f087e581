package find_test

import (
	"fmt"
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
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// lengths returns the number of entries in the head, the shards and the long part of a list.
func (s *stock) lengths(key func(partition, part int) string, user string) (head, shards, long int) {
	s.Helper()
	for _, part := range keyspace.IndexPartsOfAll() {
		n, err := s.client.ZCard(s.Context(), key(keyspace.Partition(user), part)).Result()
		require.NoError(s, err)
		switch part {
		case 0:
			head = int(n)
		case keyspace.IndexParts - 1:
			long = int(n)
		default:
			shards += int(n)
		}
	}
	return head, shards, long
}

// crowd fills the heads of alice's partition with messages of another, or empties them.
func (s *stock) crowd(present bool) {
	s.Helper()
	partition := keyspace.Partition("alice")
	pipe := s.client.Pipeline()
	for n := range keyspace.IndexHead {
		for _, key := range []string{s.keys.IDs(partition, 0), s.keys.Campaigns(partition, 0)} {
			member := keyspace.IndexMember("crowd", strconv.Itoa(n))
			if present {
				pipe.ZAdd(s.Context(), key, redis.Z{Score: float64(n), Member: member})
			} else {
				pipe.ZRem(s.Context(), key, member)
			}
		}
	}
	_, err := pipe.Exec(s.Context())
	require.NoError(s, err)
}

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

func TestTheHeadIsFilledBeforeTheShards(t *testing.T) {
	t.Parallel()
	clients := map[string]redis.UniversalClient{"real": redistest.Real(t).Client()}
	_, clients["embedded"] = redistest.Embedded(t)
	for name, client := range clients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStock(t, client, sendlimit.Options{})
			const many = keyspace.IndexHead + 40
			var want []string
			for n := range many {
				w := what{user: "alice", id: fmt.Sprint("m", n), after: minutes(n)}
				if n%2 == 0 {
					w.campaign = "c"
				}
				s.submit(w)
				want = append(want, "alice "+w.id)
			}
			head, shards, long := s.lengths(s.keys.IDs, "alice")
			require.Equal(t, []int{keyspace.IndexHead, 40, 0}, []int{head, shards, long})
			head, shards, long = s.lengths(s.keys.Campaigns, "alice")
			require.Equal(t, []int{many / 2, 0, 0}, []int{head, shards, long})
			slices.Sort(want)
			for _, limit := range []int{7, 1000} {
				found := s.all(find.Filter{User: "alice"}, limit, nil)
				slices.Sort(found)
				require.Equal(t, want, found)
			}
			for _, id := range []string{"m0", fmt.Sprint("m", many-1)} {
				require.Equal(t, []string{"alice " + id}, s.all(find.Filter{ID: id}, 10, nil))
			}

			// What leaves the head makes room there.
			s.lose("alice", "m0")
			_, err := s.index.Sweep(t.Context(), s.watch, atOnce)
			require.NoError(t, err)
			s.submit(what{user: "alice", id: "late", after: minutes(many)})
			head, shards, _ = s.lengths(s.keys.IDs, "alice")
			require.Equal(t, []int{keyspace.IndexHead, 40}, []int{head, shards})
		})
	}
}

// Members longer than 64 bytes have a part of their own: they would take others out of the
// compact encoding.
func TestLongMembersHaveTheirOwnPart(t *testing.T) {
	t.Parallel()
	client := redistest.Real(t).Client()
	s := newStock(t, client, sendlimit.Options{})
	longest, longer := strings.Repeat("u", 57), strings.Repeat("u", 58) // with 5 bytes of id and 2 slashes
	for n, user := range []string{longest, longer} {
		s.submit(what{user: user, id: "abcde", campaign: "c", after: minutes(n)})
		for _, key := range s.keys.IndexKeys(user, "abcde") {
			if encoding := client.ObjectEncoding(t.Context(), key).Val(); encoding != "" {
				require.Equal(t, []string{"listpack", "skiplist"}[n], encoding)
			}
		}
		head, shards, long := s.lengths(s.keys.IDs, user)
		require.Equal(t, []int{1 - n, 0, n}, []int{head, shards, long})
		require.Equal(t, []string{user + " abcde"}, s.all(find.Filter{User: user, Campaign: "c"}, 10, nil))
	}
	want := []string{longest + " abcde", longer + " abcde"}
	require.ElementsMatch(t, want, s.all(find.Filter{ID: "abcde"}, 10, nil))
	require.ElementsMatch(t, want, s.all(find.Filter{Campaign: "c"}, 10, nil))
	s.lose(longer, "abcde")
	require.Len(t, s.all(find.Filter{ID: "abcde"}, 10, nil), 1)
	require.Equal(t, 1, s.entries(longer, "abcde"), "of the campaign")
}

// A message that is accepted anew after its record has expired may get an entry in the head
// while the stale one is in its shard, or the other way around. It is listed once.
func TestAMessageWithTwoEntriesIsListedOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name            string
		crowded         bool // when it is accepted anew
		campaign        string
		entries, remain int
	}{
		{"anew in the head", false, "spring", 4, 2},
		{"anew in the shard", true, "spring", 4, 2},
		// Then the entry in the head does not find the new campaign until a sweep corrects it.
		{"anew in the shard, with another campaign", true, "autumn", 4, 2},
		{"anew in the head, with another campaign", false, "autumn", 4, 3}, // the next sweep finds it twice
		{"anew in the head, without a campaign", false, "", 3, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, client := redistest.Embedded(t)
			s := newStock(t, client, sendlimit.Options{})
			s.crowd(!row.crowded)
			s.submit(what{user: "alice", id: "a", campaign: "spring"})
			s.lose("alice", "a")
			s.crowd(row.crowded)
			s.submit(what{user: "alice", id: "a", campaign: row.campaign, after: minutes(1)})
			require.Equal(t, row.entries, s.entries("alice", "a"))

			for _, wanted := range []find.Filter{{User: "alice"}, {User: "alice", ID: "a"}, {User: "alice", Campaign: row.campaign}} {
				for _, limit := range []int{1, 10} {
					require.Equal(t, []string{"alice a"}, s.all(wanted, limit, nil), "%+v", wanted)
				}
			}
			if row.campaign != "spring" {
				require.Empty(t, s.all(find.Filter{User: "alice", Campaign: "spring"}, 10, nil))
			}
			_, err := s.index.Sweep(t.Context(), s.watch, atOnce)
			require.NoError(t, err)
			require.Equal(t, row.remain, s.entries("alice", "a"))
			require.Equal(t, []string{"alice a"}, s.all(find.Filter{User: "alice", Campaign: row.campaign}, 10, nil))
			s.lose("alice", "a")
			_, err = s.index.Sweep(t.Context(), s.watch, atOnce)
			require.NoError(t, err)
			require.Zero(t, s.entries("alice", "a"))
		})
	}
}

// The id of a cancelled message is free, and its record is still there. A new message with it
// keeps the entry where it is: somebody may be going through the lists.
func TestAnEntryStaysInItsPart(t *testing.T) {
	t.Parallel()
	for _, crowded := range []bool{false, true} {
		_, client := redistest.Embedded(t)
		s := newStock(t, client, sendlimit.Options{})
		s.crowd(crowded)
		s.submit(what{user: "alice", id: "a", campaign: "c"})
		keys := s.keys.IndexKeys("alice", "a")
		_, err := s.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "a"})
		require.NoError(t, err)
		s.crowd(!crowded)
		s.submit(what{user: "alice", id: "a", campaign: "d", after: minutes(1)})
		for i, key := range keys {
			in, err := client.ZMScore(t.Context(), key, keyspace.IndexMember("alice", "a")).Result()
			require.NoError(t, err)
			require.Equal(t, crowded == (i%2 == 1), in[0] > 0, key)
		}
		require.Equal(t, []string{"alice a"}, s.all(find.Filter{User: "alice", Campaign: "d"}, 10, nil))
	}
}
