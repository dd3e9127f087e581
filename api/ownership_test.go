package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// One account gives up an id and another takes it, while the first still cancels and moves. The
// owner is checked in the same step as the change.
func TestAnIDThatGoesFromOneAccountToAnother(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t, locked)
	both := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
	own, other := r.key("own", both...), r.key("other", both...)
	submit := request{method: http.MethodPost, target: messagesPath, body: `{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi"}`}
	cancel := request{method: http.MethodDelete, target: aliceA}
	move := request{method: http.MethodPatch, target: aliceA, body: `{"send_at":"` + on22("18:00:00") + `"}`}
	taken := 0
	for range 60 {
		require.Equal(t, http.StatusCreated, r.with(own, submit).status)
		var first sync.WaitGroup
		for _, q := range []request{cancel, cancel, cancel, move, move} {
			first.Go(func() { r.with(own, q) })
		}
		var accepted bool
		for range 5 {
			if got := r.with(other, submit); got.status == http.StatusCreated {
				accepted = true
				break
			}
		}
		first.Wait()
		if !accepted {
			require.Equal(t, http.StatusOK, r.with(own, cancel).status) // be it once more
			continue
		}
		taken++
		status := into[message.Status](t, http.StatusOK, r.with(other, request{method: http.MethodGet, target: aliceA}))
		require.Equal(t, message.StatusScheduled, status.Status)
		require.Equal(t, on22("11:11:11.000"), status.SendAt.Format(message.TimeLayout))
		require.Equal(t, http.StatusOK, r.with(other, cancel).status)
	}
	require.NotZero(t, taken, "nothing was tried")
}

// A change of a message that has ended returns its status.
func TestAnAccountMovesWhatItCancelled(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own := r.key("own", accounts.ScopeSubmit, accounts.ScopeRead)
	body := `{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi"}`
	require.Equal(t, http.StatusCreated, r.with(own, request{method: http.MethodPost, target: messagesPath, body: body}).status)
	require.Equal(t, http.StatusOK, r.with(own, request{method: http.MethodDelete, target: aliceA}).status)
	moved := r.with(own, request{method: http.MethodPatch, target: aliceA, body: `{"send_at":"now"}`})
	require.Equal(t, http.StatusNotFound, moved.status)
	require.Contains(t, string(moved.body), "message a to alice was cancelled at ")
}

// A change that an account repeats is no error, as without accounts.
func TestAnAccountCancelsTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own, other := r.key("own", accounts.ScopeSubmit), r.key("other", accounts.ScopeSubmit)
	require.Equal(t, http.StatusCreated, r.with(own, request{
		method: http.MethodPost, target: messagesPath, body: `{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi"}`,
	}).status)
	cancel := request{method: http.MethodDelete, target: aliceA}
	require.False(t, into[message.Outcome](t, http.StatusOK, r.with(own, cancel)).Replayed)
	require.True(t, into[message.Outcome](t, http.StatusOK, r.with(own, cancel)).Replayed)
	require.Equal(t, http.StatusNotFound, r.with(other, cancel).status)
}

// An account's list has its messages in full pages, and nothing of others': not
// even in its cursors.
func TestAnAccountsListAmongOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	policies := settings.NewPolicies(r.client, keyspace.KeysUnder(""))
	loose, err := policy.Parse(policy.DefaultName, "", "1000/minute")
	require.NoError(t, err)
	require.NoError(t, policies.Apply(t.Context(), loose))
	both := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
	own, other := r.key("own", both...), r.key("other", both...)
	var want []string
	for i := range 40 {
		key, id := other, fmt.Sprintf("secret-%02d", i)
		if i%8 == 3 {
			key, id = own, fmt.Sprintf("own-%02d", i)
			want = append(want, id)
		}
		require.Equal(t, http.StatusCreated, r.with(key, request{method: http.MethodPost, target: messagesPath, body: fmt.Sprintf(
			`{"user":"alice","id":%q,"send_at":%q,"title":"Hi"}`, id, on22(fmt.Sprintf("11:11:%02d", i)))}).status)
	}
	for _, limit := range []int{1, 2, 4, 5, 100} {
		var got []string
		for cursor := ""; ; {
			q := request{method: http.MethodGet, target: fmt.Sprintf("/v1/users/alice/messages?limit=%d%s", limit, cursor)}
			page := into[message.Messages](t, http.StatusOK, r.with(own, q))
			for _, m := range page.Messages {
				got = append(got, m.ID)
			}
			if page.NextCursor == "" {
				break
			}
			require.Len(t, page.Messages, limit)
			cursor = "&cursor=" + page.NextCursor
		}
		require.Equal(t, want, got, "in pages of %d", limit)
	}
}

// Another account's id is taken, and that is all there is to know of it.
func TestAnothersIDIsTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own, other := r.key("own", accounts.ScopeSubmit), r.key("other", accounts.ScopeSubmit)
	draft := func(clock string) string {
		return `{"user":"alice","id":"a","send_at":"` + on22(clock) + `","title":"secret"}`
	}
	require.Equal(t, http.StatusCreated, r.with(own, request{method: http.MethodPost, target: messagesPath, body: draft("11:11:11")}).status)
	for _, target := range []string{messagesPath, messagesPath + "/dry-run"} {
		for _, clock := range []string{"11:11:11", "17:00:00"} { // the same request is another's as well
			got := r.with(other, request{method: http.MethodPost, target: target, body: draft(clock)})
			require.Equal(t, fault.CodeIDReused, r.problem(http.StatusConflict, got).Code)
			require.NotContains(t, strings.ReplaceAll(string(got.body), on22(clock+".000"), ""), "2026-")
		}
	}
}

// Cursors are sealed, since they may name another account's message.
func TestCursorsAreSealed(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own, other := r.key("own", accounts.ScopeSubmit, accounts.ScopeRead), r.key("other", accounts.ScopeSubmit)
	for i := range 20 {
		for name, key := range map[string]string{"own": own, "secret": other} {
			body := fmt.Sprintf(`{"user":"%s%d","id":%q,"send_at":%q,"title":"Hi"}`, name, i, name, on22("11:11:00"))
			require.Equal(t, http.StatusCreated, r.with(key, request{method: http.MethodPost, target: messagesPath, body: body}).status)
		}
	}
	for cursor, pages := "", 0; ; pages++ {
		page := into[message.Messages](t, http.StatusOK, r.with(own, request{method: http.MethodGet, target: messagesPath + "?limit=3" + cursor}))
		decoded, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
		require.NoError(t, err)
		require.NotRegexp(t, `secret|"own|own\d|"\w+":`, string(decoded)) // long enough not to come by chance
		if page.NextCursor == "" {
			require.Greater(t, pages, 2)
			break
		}
		cursor = "&cursor=" + page.NextCursor
	}
}
