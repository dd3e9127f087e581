package sendlimittest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
)

// CheckNotices draws a history of the outbox: notices are put, claimed, announced
// and settled by workers that may die between any two calls, repeat a call or
// come late with it; a relay looks after what is due, and somebody retries or
// purges what failed. It holds every answer against a plain account of each
// notice, and how often each was announced against how often a worker died with
// the answer of the mail server in its hands. Keys begin with prefix, as in
// CheckHistory. Run it by rapid.Check.
func CheckNotices(t *rapid.T, client redis.UniversalClient, prefix string) {
	o := newNoticeBox(t, client, prefix)
	t.Repeat(map[string]func(*rapid.T){
		"put":       o.put,
		"claim":     o.claim,
		"claim ":    o.claim, // more often than the rest
		"announce":  o.announce,
		"announce ": o.announce,
		"settle":    o.settle,
		"settle ":   o.settle,
		"die":       o.die,
		"relay":     o.relay,
		"revive":    o.revive,
		"purge":     o.purge,
		"time goes": o.timeGoes,
		"":          o.inspect,
	})
}

// noticeBox is an outbox in the store, and what should be in it.
type noticeBox struct {
	client  redis.UniversalClient
	keys    keyspace.Keys
	outbox  *notices.Outbox
	options sendlimit.Options

	now     time.Time
	known   map[string]*noticeAccount
	workers []*noticeWorker // that live
	made    int             // nonces and tokens
}

// noticeAccount is what became of a notice.
type noticeAccount struct {
	id        string
	details   string // erased when it ends, unless it failed
	state     noticeState
	tries     int
	first     time.Time // when it was claimed
	nonce     string    // of the delivery that has or had it
	leaseEnd  time.Time
	notBefore time.Time
	look      time.Time
	ended     time.Time
	reason    string
	token     string // of the last retry by hand
	announced int    // since it was last put or retried by hand
	doubts    int    // workers that died, or lost it, with the answer in their hands
}

type noticeState string

const (
	noticePending   noticeState = "pending"
	noticeSending   noticeState = "sending"
	noticeDelivered noticeState = "delivered"
	noticeFailed    noticeState = "failed"
	noticeDropped   noticeState = "dropped"
)

// noticeWorker is a worker that has asked for a notice, once or more often.
type noticeWorker struct {
	id, nonce string
	holds     bool // it was told to send it
	announced bool // the mail server has answered
	settled   *notices.Settlement
}

const noticeLease = 30 * time.Second

func newNoticeBox(t *rapid.T, client redis.UniversalClient, prefix string) *noticeBox {
	o := &noticeBox{client: client, now: drawStart(t), known: make(map[string]*noticeAccount)}
	o.options = sendlimit.Options{
		Prefix: prefix, KeepRecords: 50 * 365 * 24 * time.Hour, // none expires by the server's clock
		Attempts: rapid.IntRange(1, 3).Draw(t, "attempts"), OverdueAfter: sendlimit.DefaultOverdueAfter,
	}
	var err error
	o.keys, err = keyspace.NewKeys(prefix)
	require.NoError(t, err)
	o.outbox, err = notices.New(client, o.options)
	require.NoError(t, err)
	return o
}

func (o *noticeBox) token() string {
	o.made++
	return fmt.Sprintf("t%d", o.made)
}

// id names one of a few notices, of all kinds, two of them in one partition.
func (o *noticeBox) id(t *rapid.T) string {
	since := time.UnixMilli(1_795_305_600_000)
	return rapid.SampledFrom([]string{
		notices.FormatID(notices.UserQuota, since, 80, "an/na:1"),
		notices.FormatID(notices.UserQuota, since, 100, "an/na:1"),
		notices.FormatID(notices.DailyReport, since, 0, "shop"),
		notices.FormatID(notices.UserQuotaDigest, since, 0, "default"),
	}).Draw(t, "notice")
}

func (o *noticeBox) put(t *rapid.T) {
	id := o.id(t)
	want := o.known[id] == nil
	details := o.token()
	put, err := o.outbox.Put(t.Context(), notices.Notice{ID: id, Details: []byte(details)}, o.now)
	require.NoError(t, err)
	require.Equal(t, want, put)
	if want {
		o.known[id] = &noticeAccount{id: id, details: details, state: noticePending, look: o.now}
	}
}

// claim has a new worker ask for a notice, or one that lives ask again.
func (o *noticeBox) claim(t *rapid.T) {
	w := &noticeWorker{id: o.id(t), nonce: o.token()}
	if len(o.workers) > 0 && rapid.Bool().Draw(t, "again") {
		w = rapid.SampledFrom(o.workers).Draw(t, "worker")
		if w.announced {
			return // who has told it asks no more
		}
	} else {
		o.workers = append(o.workers, w)
	}
	want := o.claimed(w)
	got, err := o.outbox.Claim(t.Context(), w.id, w.nonce, noticeLease, o.now)
	require.NoError(t, err)
	require.Equal(t, want, got)
	w.holds = got.Verdict == messages.Send
}

// claimed says what a claim is answered, and keeps account of it.
func (o *noticeBox) claimed(w *noticeWorker) notices.Claim {
	c := notices.Claim{Verdict: messages.Stale, Now: o.now}
	n := o.known[w.id]
	switch {
	case n == nil:
	case n.state == noticePending && n.nonce != w.nonce && o.now.Before(n.notBefore):
		c.Verdict, c.Until = messages.Early, n.notBefore
	case n.state == noticePending && n.nonce != w.nonce:
		n.tries++
		return o.held(n, w, false)
	case n.state == noticeSending && n.nonce == w.nonce:
		return o.held(n, w, false)
	case n.state == noticeSending && o.now.Before(n.leaseEnd):
		c.Verdict, c.Until = messages.Busy, n.leaseEnd
	case n.state == noticeSending && n.tries >= o.options.Attempts:
		o.lost(n)
		n.nonce = w.nonce
		n.end(noticeFailed, messages.ReasonUncertain, o.now)
		c.Verdict, c.Reason, c.Failed = messages.Dropped, messages.ReasonUncertain, true
	case n.state == noticeSending:
		o.lost(n)
		n.tries++
		return o.held(n, w, true)
	case (n.state == noticeFailed || n.state == noticeDropped) && n.nonce == w.nonce:
		c.Verdict, c.Reason, c.Failed = messages.Dropped, n.reason, n.state == noticeFailed
	}
	return c
}

// lost counts a worker that lives, was too slow to settle what it has told, and
// loses the notice to another.
func (o *noticeBox) lost(n *noticeAccount) {
	for _, w := range o.workers {
		if w.id == n.id && w.nonce == n.nonce && w.announced {
			n.doubts++
		}
	}
}

func (o *noticeBox) held(n *noticeAccount, w *noticeWorker, takenOver bool) notices.Claim {
	if n.first.IsZero() {
		n.first = o.now
	}
	n.state, n.nonce, n.leaseEnd, n.look = noticeSending, w.nonce, o.now.Add(noticeLease), o.now.Add(noticeLease)
	notice, _ := notices.ParseID(n.id)
	notice.Details = []byte(n.details)
	return notices.Claim{
		Verdict: messages.Send, Notice: notice, Attempt: n.tries, First: n.first, TakenOver: takenOver, Now: o.now,
	}
}

func (n *noticeAccount) end(state noticeState, reason string, now time.Time) {
	n.state, n.reason, n.ended, n.notBefore = state, reason, now, time.Time{}
	if state != noticeFailed {
		n.details = ""
	}
}

// announce has a worker tell the notice that it holds, while its lease lasts.
func (o *noticeBox) announce(t *rapid.T) {
	for _, w := range o.workers {
		n := o.known[w.id]
		if w.holds && !w.announced && w.settled == nil && n.nonce == w.nonce && o.now.Before(n.leaseEnd) {
			w.announced = true
			n.announced++
			require.LessOrEqual(t, n.announced, 1+n.doubts, "%s was told once more than a worker died over it", n.id)
			return
		}
	}
}

// settle has a worker that was told to send say what came of it, and say so again
// if it likes.
func (o *noticeBox) settle(t *rapid.T) {
	var holding []*noticeWorker
	for _, w := range o.workers {
		if w.holds {
			holding = append(holding, w)
		}
	}
	if len(holding) == 0 {
		return
	}
	w := rapid.SampledFrom(holding).Draw(t, "worker")
	if w.settled == nil {
		w.settled = o.outcome(t, w)
	}
	want := o.settledBy(w)
	got, err := o.outbox.Settle(t.Context(), w.id, w.nonce, *w.settled, o.now)
	require.NoError(t, err)
	require.Equal(t, want, got, "%+v", *w.settled)
}

// outcome is what a worker has to say: delivered is what was announced, and
// nothing else.
func (o *noticeBox) outcome(t *rapid.T, w *noticeWorker) *notices.Settlement {
	if w.announced {
		return &notices.Settlement{Delivered: true, ProviderID: "mail-1"}
	}
	again := o.now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "again in"))
	return rapid.SampledFrom([]*notices.Settlement{
		{Failed: true, Reason: "rejected"},
		{Dropped: true, Reason: "no_contact"},
		{RetryAt: again, Reason: "unavailable"},
		{RetryAt: again, Reason: "no_channel", Unsent: true},
	}).Draw(t, "outcome")
}

// settledBy says what a settlement is answered, and keeps account of it.
func (o *noticeBox) settledBy(w *noticeWorker) bool {
	n := o.known[w.id]
	if n.nonce != w.nonce {
		return false
	}
	if n.state != noticeSending {
		return true
	}
	switch s := w.settled; {
	case s.Delivered:
		n.end(noticeDelivered, s.ProviderID, o.now)
	case s.Failed:
		n.end(noticeFailed, s.Reason, o.now)
	case s.Dropped:
		n.end(noticeDropped, s.Reason, o.now)
	default:
		n.state, n.notBefore, n.look = noticePending, s.RetryAt, s.RetryAt.Add(o.options.OverdueAfter)
		if s.Unsent {
			n.tries--
		}
	}
	return true
}

// die ends a worker, whatever it was about to do.
func (o *noticeBox) die(t *rapid.T) {
	if len(o.workers) == 0 {
		return
	}
	i := rapid.IntRange(0, len(o.workers)-1).Draw(t, "worker")
	w := o.workers[i]
	if n := o.known[w.id]; w.announced && n.nonce == w.nonce && n.state == noticeSending {
		n.doubts++
	}
	o.workers = slices.Delete(o.workers, i, i+1)
}

// relay hands on what is due, and notes it.
func (o *noticeBox) relay(t *rapid.T) {
	due, err := o.outbox.Due(t.Context(), o.now, 10)
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
	id, queued := o.id(t), o.now.Add(-time.Duration(rapid.IntRange(0, 90).Draw(t, "queued ago"))*time.Second)
	require.NoError(t, o.outbox.Confirm(t.Context(), notices.Queued{ID: id, Due: queued}))
	n, look := o.known[id], queued.Add(o.options.OverdueAfter)
	if n != nil && (n.state == noticePending || n.state == noticeSending) && n.look.Before(look) {
		n.look = look
	}
}

func (o *noticeBox) revive(t *rapid.T) {
	id, token := o.id(t), o.token()
	n := o.known[id]
	want := n != nil && n.state == noticeFailed
	if n != nil && n.token != "" && rapid.Bool().Draw(t, "a call that comes again") {
		token, want = n.token, true
	} else if want {
		*n = noticeAccount{id: n.id, details: n.details, state: noticePending, look: o.now, token: token}
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := o.outbox.RetryDead(t.Context(), id, token, o.now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	o.workers = slices.DeleteFunc(o.workers, func(w *noticeWorker) bool { return want && w.id == id })
}

func (o *noticeBox) purge(t *rapid.T) {
	n := o.known[o.id(t)]
	if n == nil {
		return
	}
	before := rapid.SampledFrom([]time.Time{{}, o.now.Add(-time.Minute)}).Draw(t, "before")
	want := n.state == noticeFailed && (before.IsZero() || n.ended.Before(before))
	got, err := o.outbox.PurgeDead(t.Context(), n.id, before)
	require.NoError(t, err)
	require.Equal(t, want, got)
	if want {
		n.state, n.details, n.reason, n.nonce, n.token = noticeDropped, "", "purged", "", ""
	}
}

func (o *noticeBox) timeGoes(t *rapid.T) {
	o.now = o.now.Add(rapid.SampledFrom([]time.Duration{
		time.Millisecond, time.Second, noticeLease - time.Second, noticeLease, 2 * time.Minute,
	}).Draw(t, "goes"))
}

// inspect holds the store against the account.
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
