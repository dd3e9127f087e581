package sendlimittest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// CheckNotices runs a random history of the outbox and compares every answer
// with the model's. Workers claim, announce and settle notices. They may die
// between any two calls, repeat calls and make them late. A relay finds due
// notices. Failed notices are retried or purged by hand.
//
// A notice must not be announced more often than once plus the number of workers
// that died, or lost the notice, after the mail server accepted it. Keys begin
// with prefix. Call it from rapid.Check.
func CheckNotices(t *rapid.T, client redis.UniversalClient, prefix string) {
	o := newNoticeBox(t, client, prefix)
	t.Repeat(map[string]func(*rapid.T){
		"put":       o.put,
		"claim":     o.claim,
		"claim ":    o.claim, // twice as often as others
		"announce":  o.announce,
		"announce ": o.announce,
		"settle":    o.settle,
		"settle ":   o.settle,
		"die":       o.die,
		"relay":     o.relay,
		"revive":    o.revive,
		"purge":     o.purge,
		"time goes": o.passTime,
		"":          o.inspect,
	})
}

// noticeBox is an outbox in the store and its model.
type noticeBox struct {
	client  redis.UniversalClient
	keys    keyspace.Keys
	outbox  *notices.Outbox
	options notices.Options

	now     time.Time
	known   map[string]*noticeModel
	workers []*noticeWorker // those alive
	tokens  int             // nonces and tokens so far
}

// noticeModel is the expected state of a notice.
type noticeModel struct {
	id        string
	details   string // erased at the end, unless the notice failed
	state     noticeState
	tries     int
	unsettled int       // deliveries that another one took over from
	failed    time.Time // when a delivery first failed
	first     time.Time // of the first claim
	nonce     string    // of the last delivery
	leaseEnd  time.Time
	grace     gracePeriod
	notBefore time.Time
	look      time.Time
	ended     time.Time
	reason    string
	token     string // of the last retry by hand
	announced int    // since the put or the last retry by hand
	doubts    int    // workers that announced it and could not settle
}

type noticeState string

const (
	noticePending   noticeState = "pending"
	noticeSending   noticeState = "sending"
	noticeDelivered noticeState = "delivered"
	noticeFailed    noticeState = "failed"
	noticeDropped   noticeState = "dropped"
)

func newNoticeBox(t *rapid.T, client redis.UniversalClient, prefix string) *noticeBox {
	o := &noticeBox{client: client, now: drawStart(t), known: make(map[string]*noticeModel)}
	o.options = notices.Options{
		Prefix: prefix, Keep: 50 * 365 * 24 * time.Hour, // none expires by the server's clock
		Attempts: rapid.IntRange(1, 3).Draw(t, "attempts"), OverdueAfter: notices.DefaultOverdueAfter,
		SettleWithin: rapid.SampledFrom([]time.Duration{0, 4 * time.Second}).Draw(t, "settle within"),
	}
	var err error
	o.keys, err = keyspace.NewKeys(prefix)
	require.NoError(t, err)
	o.outbox, err = notices.New(client, o.options)
	require.NoError(t, err)
	return o
}

func (o *noticeBox) newToken() string {
	o.tokens++
	return fmt.Sprintf("t%d", o.tokens)
}

// drawID draws the id of one of four notices. They are of all kinds, and two of
// them are in one partition.
func (o *noticeBox) drawID(t *rapid.T) string {
	since := time.UnixMilli(1_795_305_600_000)
	return rapid.SampledFrom([]string{
		notices.FormatID(notices.UserQuota, since, 80, "an/na:1"),
		notices.FormatID(notices.UserQuota, since, 100, "an/na:1"),
		notices.FormatID(notices.DailyReport, since, 0, "shop"),
		notices.FormatID(notices.UserQuotaDigest, since, 0, "default"),
	}).Draw(t, "notice")
}

func (o *noticeBox) put(t *rapid.T) {
	id := o.drawID(t)
	want := o.known[id] == nil
	details := o.newToken()
	put, err := o.outbox.Put(t.Context(), notices.Notice{ID: id, Details: []byte(details)}, o.now)
	require.NoError(t, err)
	require.Equal(t, want, put)
	if want {
		o.known[id] = &noticeModel{id: id, details: details, state: noticePending, look: o.now}
	}
}

// relay compares due alerts, and confirms that an alert is queued.
func (o *noticeBox) relay(t *rapid.T) {
	due, _, err := o.outbox.Due(t.Context(), o.now, 10)
	require.NoError(t, err)
	var want []notices.Due
	for _, n := range o.known {
		if (n.state == noticePending || n.state == noticeSending) && !n.look.After(o.now) {
			want = append(want, notices.Due{ID: n.id, Since: n.look})
		}
	}
	byAge := func(a, b notices.Due) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(want, byAge)
	slices.SortFunc(due, byAge)
	require.Equal(t, want, due)
	id, queued := o.drawID(t), o.now.Add(-time.Duration(rapid.IntRange(0, 90).Draw(t, "queued ago"))*time.Second)
	require.NoError(t, o.outbox.Confirm(t.Context(), notices.Queued{ID: id, Due: queued}))
	n, look := o.known[id], queued.Add(o.options.OverdueAfter)
	if n != nil && (n.state == noticePending || n.state == noticeSending) && n.look.Before(look) {
		n.look = look
	}
}

func (o *noticeBox) passTime(t *rapid.T) {
	o.now = o.now.Add(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, noticeLease - time.Second, noticeLease, 2 * time.Minute,
	}).Draw(t, "goes"))
}

// inspect compares the store with the model.
func (o *noticeBox) inspect(t *rapid.T) {
	looks, dead := make(map[string]int64), make(map[string]int64)
	for _, n := range o.known {
		switch n.state {
		case noticePending, noticeSending:
			looks[n.id] = n.look.UnixMilli()
		case noticeFailed:
			dead[n.id] = n.ended.UnixMilli()
		case noticeDelivered, noticeDropped:
		}
		notice, _ := notices.ParseID(n.id)
		details, err := o.client.HGet(t.Context(), o.keys.Notice(notice.Subject, n.id), "x").Result()
		if err != nil {
			require.ErrorIs(t, err, redis.Nil)
		}
		require.Equal(t, n.details, details)
		ttl, err := o.client.PTTL(t.Context(), o.keys.Notice(notice.Subject, n.id)).Result()
		require.NoError(t, err)
		require.Equal(t, n.state == noticePending || n.state == noticeSending, ttl < 0, "%+v expires", *n)
	}
	for _, list := range []struct {
		key  func(int) string
		want map[string]int64
	}{{o.keys.Notices, looks}, {o.keys.DeadNotices, dead}} {
		found := make(map[string]int64)
		for _, subject := range []string{"an/na:1", "shop", "default"} {
			entries, err := o.client.ZRangeWithScores(t.Context(), list.key(keyspace.Partition(subject)), 0, -1).Result()
			require.NoError(t, err)
			for _, e := range entries {
				found[fmt.Sprint(e.Member)] = int64(e.Score)
			}
		}
		require.Equal(t, list.want, found)
	}
}
