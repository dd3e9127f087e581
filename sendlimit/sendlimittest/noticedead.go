package sendlimittest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func (o *noticeBox) revive(t *rapid.T) {
	id, token := o.drawID(t), o.newToken()
	n := o.known[id]
	want := n != nil && n.state == noticeFailed
	if n != nil && n.token != "" && rapid.Bool().Draw(t, "a call that comes again") {
		token, want = n.token, true
	} else if want {
		*n = noticeModel{id: n.id, details: n.details, state: noticePending, look: o.now, token: token}
	}
	for range rapid.IntRange(1, 2).Draw(t, "calls") {
		got, err := o.outbox.RetryDead(t.Context(), id, token, o.now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	o.workers = slices.DeleteFunc(o.workers, func(w *noticeWorker) bool { return want && w.id == id })
}

func (o *noticeBox) purge(t *rapid.T) {
	n := o.known[o.drawID(t)]
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
