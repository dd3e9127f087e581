package audit_test

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// onEachStore runs a test on the embedded store, on Redis and on a cluster.
func onEachStore(t *testing.T, test func(t *testing.T, client redis.UniversalClient)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		_, client := redistest.Embedded(t)
		test(t, client)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Real(t).Client())
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.RealCluster(t).Client())
	})
}

// logbook is a log in which changes are numbered.
type logbook struct {
	*testing.T
	*audit.Log
}

func open(t *testing.T, client redis.Cmdable, o audit.Options) logbook {
	t.Helper()
	log, err := audit.New(client, o)
	require.NoError(t, err)
	return logbook{t, log}
}

func (l logbook) begin(e audit.Entry) audit.Entry {
	l.Helper()
	begun, err := l.Begin(l.Context(), e)
	require.NoError(l, err)
	return begun
}

func (l logbook) ends(e audit.Entry, outcome string) {
	l.Helper()
	require.NoError(l, l.End(l.Context(), l.begin(e), outcome, "", ""))
}

// numbered adds entries with the objects first to last.
func (l logbook) numbered(first, last int) {
	l.Helper()
	for n := first; n <= last; n++ {
		l.begin(audit.Entry{Action: "change policy", Object: strconv.Itoa(n)})
	}
}

// pages reads all pages.
func (l logbook) pages(f audit.Filter, limit int) (all []audit.Entry, pages int) {
	l.Helper()
	for cursor := ""; ; pages++ {
		list, next, err := l.Page(l.Context(), f, cursor, limit)
		require.NoError(l, err)
		require.LessOrEqual(l, len(list), limit)
		if all = append(all, list...); next == "" {
			return all, pages + 1
		}
		cursor = next
	}
}

func (l logbook) objects(f audit.Filter) string {
	l.Helper()
	all, _ := l.pages(f, audit.MaxPage)
	var objects []string
	for _, e := range all {
		objects = append(objects, e.Object)
	}
	return strings.Join(objects, " ")
}

func TestAnEntryBeginsAndEnds(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		l := open(t, client, audit.Options{})
		all, pages := l.pages(audit.Filter{}, 10)
		require.Empty(t, all)
		require.Equal(t, 1, pages)

		e := audit.Entry{
			Account: "acme", Key: "3fa9", Address: "2001:db8::1", Action: "move message", User: "alice \"ü\"", Message: "m:1",
			Object: "<o>", Detail: "from 10:00 to 11:00 & \"erased\":true",
		}
		ignored := e
		ignored.ID, ignored.At, ignored.Outcome, ignored.Code, ignored.Answer, ignored.Erased = "7", time.Unix(1, 0), audit.Done, "c", "a", true
		begun := l.begin(ignored)
		all, _ = l.pages(audit.Filter{}, 10)
		require.Len(t, all, 1)
		e.ID, e.At = begun.ID, all[0].At
		require.WithinDuration(t, time.Now(), e.At, 10*time.Second)
		require.Equal(t, time.UTC, e.At.Location())
		require.Equal(t, e, all[0])

		require.NoError(t, l.End(t.Context(), begun, audit.Refused, "send_limit", "It breaks 1/minute.\nSo it stays."))
		require.NoError(t, l.End(t.Context(), begun, audit.Done, "", ""), "the second time changes nothing")
		all, _ = l.pages(audit.Filter{}, 10)
		require.WithinDuration(t, e.At, all[0].EndedAt, 10*time.Second)
		e.Outcome, e.Code, e.Answer, e.EndedAt = audit.Refused, "send_limit", "It breaks 1/minute.\nSo it stays.", all[0].EndedAt
		require.Equal(t, []audit.Entry{e}, all)

		second := l.begin(audit.Entry{Action: "purge"})
		require.Greater(t, second.ID, begun.ID)
		require.NoError(t, l.End(t.Context(), second, audit.Done, "", ""))
		require.NoError(t, l.End(t.Context(), audit.Entry{ID: "1795305600000-000000"}, audit.Failed, "", ""), "no such entry")
		all, _ = l.pages(audit.Filter{}, 10)
		require.Len(t, all, 2)
		require.Equal(t, []string{second.ID, "purge", audit.Done, "", ""}, []string{all[0].ID, all[0].Action, all[0].Outcome, all[0].Code, all[0].Answer})
	})
}

// Entries come in the order of their calls, the newest first, also those of one millisecond
// and after the clock stepped back.
func TestOrder(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	l := open(t, client, audit.Options{})
	server.SetTime(story.At("10:00"))
	l.numbered(1, 12)
	server.SetTime(story.At("09:00"))
	l.numbered(13, 14)
	server.SetTime(story.At("10:00:00.001"))
	l.numbered(15, 15)
	all, pages := l.pages(audit.Filter{}, 4)
	require.Equal(t, 4, pages)
	require.Equal(t, "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1", l.objects(audit.Filter{}))
	require.True(t, slices.IsSortedFunc(all, func(a, b audit.Entry) int { return strings.Compare(b.ID, a.ID) }))
	require.Equal(t, story.At("10:00"), all[1].At, "not before the entry before it")
	require.Equal(t, story.At("10:00:00.001"), all[0].At)
	require.Equal(t, "1795341600000-000013", all[1].ID)

	require.NoError(t, client.ZAdd(t.Context(), "sl:{audit}:ids", redis.Z{Member: "1795341600001-999999"}).Err())
	require.Equal(t, "1795341600002-000000", l.begin(audit.Entry{Action: "full"}).ID, "after a million of one millisecond")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	l := open(t, client, audit.Options{})
	for i, e := range []audit.Entry{
		{Account: "acme", Action: "move", User: "alice"},
		{Account: "acme", Action: "cancel", User: "bob"},
		{Account: "zeta", Action: "move", User: "alice"},
		{Action: "move", User: "alice2"},
	} {
		server.SetTime(story.At("10:00").Add(time.Duration(i) * time.Minute))
		e.Object = strconv.Itoa(i)
		l.begin(e)
	}
	for want, f := range map[string]audit.Filter{
		"3 2 1 0": {},
		"1 0":     {Account: "acme"},
		"2 0":     {User: "alice"},
		"0":       {User: "alice", Account: "acme"},
		"3 2 0":   {Action: "move"},
		"2":       {Object: "2"},
		"3 2":     {From: story.At("10:02")},
		"3":       {From: story.At("10:02").Add(1)},
		"2 1 0":   {Until: story.At("10:03")},
		"1":       {From: story.At("10:01"), Until: story.At("10:02")},
		"":        {From: story.At("10:03").AddDate(7000, 0, 0)},
	} {
		require.Equal(t, want, l.objects(f), "%+v", f)
	}
	require.Equal(t, "3 2 1 0", l.objects(audit.Filter{From: time.Unix(-9, 0), Until: story.At("10:03").AddDate(7000, 0, 0)}))
	all, pages := l.pages(audit.Filter{Until: story.At("10:03")}, 1)
	require.Len(t, all, 3)
	require.Equal(t, 4, pages)
}

// A page looks at a thousand entries. The next one continues there.
func TestAPageMayBeEmpty(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("10:00"))
	l := open(t, client, audit.Options{})
	l.numbered(1, audit.LookedAt+300)
	list, next, err := l.Page(t.Context(), audit.Filter{Object: "7"}, "", 5)
	require.NoError(t, err)
	require.Empty(t, list)
	require.NotEmpty(t, next)
	list, next, err = l.Page(t.Context(), audit.Filter{Object: "7"}, next, 5)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Empty(t, next)
	all, pages := l.pages(audit.Filter{}, audit.MaxPage)
	require.Len(t, all, audit.LookedAt+300)
	require.Equal(t, 3, pages)
}

// No account pushes out what another did, refusals push out nothing else, and what an operator
// did stays.
func TestTheLogIsTrimmed(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		l := open(t, client, audit.Options{Most: 3, Refusals: 2})
		for n := range 30 {
			object := strconv.Itoa(n)
			l.ends(audit.Entry{Account: "hostile", Action: "show content", Object: object}, audit.Done)
			l.ends(audit.Entry{Account: "hostile", Action: "move message", Object: "no" + object}, audit.Refused)
			if n < 5 {
				l.ends(audit.Entry{Account: "acme", Action: "a", Object: object}, audit.Done)
				l.ends(audit.Entry{Account: "ops", Action: "a", Object: object, Operator: true}, audit.Done)
			}
		}
		require.Equal(t, "29 28 27 no1 no0", l.objects(audit.Filter{Account: "hostile"}))
		require.Equal(t, "4 3 2", l.objects(audit.Filter{Account: "acme"}))
		require.Equal(t, "4 3 2 1 0", l.objects(audit.Filter{Account: "ops"}))
		all, _ := l.pages(audit.Filter{Object: "no1"}, 1)
		require.Equal(t, 28, all[0].More, "the first refusals of a minute have entries")
		require.Equal(t, int64(2*13+1), client.HLen(t.Context(), "sl:{audit}:entries").Val())

		// Fewer are kept now: each call removes up to a hundred.
		l = open(t, client, audit.Options{Most: 300})
		for range 200 {
			l.ends(audit.Entry{Account: "acme", Action: "a"}, audit.Done)
		}
		l = open(t, client, audit.Options{Most: 1})
		for left := range 3 {
			l.ends(audit.Entry{Account: "acme", Action: "b"}, audit.Done)
			all, _ = l.pages(audit.Filter{Account: "acme"}, audit.MaxPage)
			require.Len(t, all, []int{104, 5, 1}[left])
		}
	})
}

func TestEntriesExpire(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	server.SetTime(story.At("10:00"))
	l := open(t, client, audit.Options{Keep: time.Hour})
	first := l.begin(audit.Entry{Action: "a", Object: "1"})
	server.SetTime(story.At("11:00"))
	l.numbered(2, 2)
	require.Equal(t, "2 1", l.objects(audit.Filter{}))
	server.SetTime(story.At("11:00:00.001"))
	l.numbered(3, 3)
	require.Equal(t, "3 2", l.objects(audit.Filter{}))
	require.NoError(t, l.End(t.Context(), first, audit.Done, "", ""), "it is gone")
	require.Equal(t, int64(2), client.HLen(t.Context(), "sl:{audit}:entries").Val())
	server.FastForward(time.Hour)
	require.Empty(t, server.Keys(), "all keys expire")
}

// Calls at the same time each get an entry of their own.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		const workers, each = 8, 25
		l := open(t, client, audit.Options{Most: each})
		var group sync.WaitGroup
		ids := make([][]string, workers)
		for w := range workers {
			group.Go(func() {
				for range each {
					e, err := l.Begin(t.Context(), audit.Entry{Account: "acme", Action: "change"})
					if err == nil {
						err = l.End(t.Context(), e, audit.Done, "", "")
					}
					if err == nil {
						_, _, err = l.Page(t.Context(), audit.Filter{}, "", 5)
					}
					if err != nil {
						t.Error(err)
					}
					ids[w] = append(ids[w], e.ID)
				}
			})
		}
		group.Wait()
		all := slices.Concat(ids...)
		slices.Sort(all)
		require.Len(t, slices.Compact(slices.Clone(all)), workers*each)
		kept, _ := l.pages(audit.Filter{}, audit.MaxPage)
		require.Len(t, kept, each)
		for i, e := range kept {
			require.Equal(t, all[len(all)-1-i], e.ID)
			require.Equal(t, audit.Done, e.Outcome)
		}
	})
}

// A client repeats a call whose reply is lost. The log has its entry once.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server, plain := redistest.Embedded(t)
	client, lose := redistest.LosingReplies(t, server.Addr())
	l := open(t, client, audit.Options{})
	require.NoError(t, l.End(t.Context(), l.begin(audit.Entry{Action: "first"}), audit.Done, "", ""))
	lose.Store(true)
	second := l.begin(audit.Entry{Action: "second"})
	require.False(t, lose.Load())
	require.Equal(t, int64(2), plain.ZCard(t.Context(), "sl:{audit}:ids").Val())
	lose.Store(true)
	require.NoError(t, l.End(t.Context(), second, audit.Failed, "unavailable", "later"))
	require.False(t, lose.Load())
	all, _ := l.pages(audit.Filter{}, 10)
	require.Len(t, all, 2)
	require.Equal(t, []string{second.ID, "second", audit.Failed, "later"}, []string{all[0].ID, all[0].Action, all[0].Outcome, all[0].Answer})
}

// Texts are cut, and a change is never refused for its words.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	l := open(t, client, audit.Options{})
	long := strings.Repeat("ü", 2000)
	begun := l.begin(audit.Entry{
		Account: long, Key: long, Address: long, Action: long, User: "x" + long, Message: long, Object: "\xff\x00" + long, Detail: long,
	})
	require.NoError(t, l.End(t.Context(), begun, audit.Failed, " a code\nof "+long, "\xff"+long))
	all, _ := l.pages(audit.Filter{}, 1)
	e := all[0]
	name := strings.Repeat("ü", audit.MaxName/2)
	require.Equal(t, []string{name, name, name, name, name}, []string{e.Account, e.Key, e.Address, e.Action, e.Message})
	require.Equal(t, "x"+name[2:], e.User)
	require.Equal(t, "\x00"+name[2:], e.Object)
	require.Equal(t, strings.Repeat("ü", audit.MaxDetail/2), e.Detail)
	require.Equal(t, strings.Repeat("ü", audit.MaxAnswer/2-1), e.Answer)
	require.True(t, strings.HasPrefix(e.Code, "a_code_of_ü"), e.Code)
	require.LessOrEqual(t, len(e.Code), audit.MaxName)
}

// An erased entry gets no answer any more, also if its change ends later.
func TestErasing(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		l := open(t, client, audit.Options{})
		about := audit.Entry{Account: "acme", Key: "k", Action: "move message", User: "alice", Message: "m1", Object: "o", Detail: "to 11:00"}
		open, ended := l.begin(about), l.begin(about)
		require.NoError(t, l.End(t.Context(), ended, audit.Refused, "send_limit", "alice has a message"))
		about.User = "alice2"
		l.begin(about)
		before, _ := l.pages(audit.Filter{}, 10)
		changed, err := l.EraseUser(t.Context(), "alice")
		require.NoError(t, err)
		require.Equal(t, 2, changed)
		changed, err = l.EraseUser(t.Context(), "alice")
		require.NoError(t, err)
		require.Zero(t, changed)
		require.NoError(t, l.End(t.Context(), open, audit.Failed, "internal", "alice has a message"))

		after, _ := l.pages(audit.Filter{}, 10)
		require.Equal(t, before[0], after[0])
		want := before[1]
		want.User, want.Message, want.Detail, want.Answer, want.Erased = "", "", "erased", "", true
		require.Equal(t, want, after[1])
		want = before[2]
		want.User, want.Message, want.Detail, want.Erased = "", "", "erased", true
		want.Outcome, want.Code, want.EndedAt = audit.Failed, "internal", after[2].EndedAt
		require.Equal(t, want, after[2])
	})
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	for _, wrong := range []struct {
		field, value string
		options      audit.Options
	}{
		{"prefix", "A", audit.Options{Prefix: "A"}},
		{"most", "-1", audit.Options{Most: -1}},
		{"most", "10000001", audit.Options{Most: 10_000_001}},
		{"refusals", "-1", audit.Options{Refusals: -1}},
		{"keep", "1s", audit.Options{Keep: time.Second}},
		{"keep", "96000h0m0s", audit.Options{Keep: 4000 * 24 * time.Hour}},
	} {
		_, err := audit.New(client, wrong.options)
		story.Invalid(t, err, wrong.field, wrong.value)
	}
	l := open(t, client, audit.Options{})
	_, err := l.Begin(t.Context(), audit.Entry{})
	story.Invalid(t, err, "action", "")
	begun := l.begin(audit.Entry{Action: "a"})
	story.Invalid(t, l.End(t.Context(), begun, "", "", ""), "outcome", "")
	for _, bad := range []string{"", "a", "1-1", begun.ID + "0", "(" + begun.ID, "1795341600000-00000x"} {
		story.Invalid(t, l.End(t.Context(), audit.Entry{ID: bad}, audit.Done, "", ""), "id", bad)
		if bad != "" {
			_, _, err = l.Page(t.Context(), audit.Filter{}, bad, 1)
			story.Invalid(t, err, "before", bad)
		}
	}
	for _, limit := range []int{0, -1, audit.MaxPage + 1} {
		_, _, err = l.Page(t.Context(), audit.Filter{}, "", limit)
		story.Invalid(t, err, "limit", strconv.Itoa(limit))
	}
}

// What nobody but a newer program writes is an error, and a store that does not answer too.
func TestAStoreThatFails(t *testing.T) {
	t.Parallel()
	server, client := redistest.Embedded(t)
	l := open(t, client, audit.Options{})
	begun := l.begin(audit.Entry{Action: "a"})
	for field, value := range map[string]string{begun.ID: "no JSON", begun.ID + " end": "yesterday done  ", begun.ID + " more": "some"} {
		former := client.HGet(t.Context(), "sl:{audit}:entries", field).Val()
		require.NoError(t, client.HSet(t.Context(), "sl:{audit}:entries", field, value).Err())
		_, _, err := l.Page(t.Context(), audit.Filter{}, "", 1)
		require.ErrorIs(t, err, fault.ErrReply)
		require.NoError(t, client.HSet(t.Context(), "sl:{audit}:entries", field, former).Err())
		if former == "" {
			require.NoError(t, client.HDel(t.Context(), "sl:{audit}:entries", field).Err())
		}
	}
	server.SetError("LOADING Redis is loading the dataset in memory")
	_, failed := l.Begin(t.Context(), audit.Entry{Action: "b"})
	_, _, read := l.Page(t.Context(), audit.Filter{}, "", 1)
	_, erased := l.EraseUser(t.Context(), "alice")
	for _, err := range []error{failed, read, erased, l.End(t.Context(), begun, audit.Done, "", "")} {
		require.ErrorAs(t, err, new(*fault.UnavailableError))
	}
}
