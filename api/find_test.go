package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// unindexed serves without an index of messages.
func unindexed(r *rig) {
	r.Helper()
	submitter, err := submit.New(taskstest.Open(r, r.client, backend.Options{Options: sendlimit.Options{WithoutIndex: true}}), submit.Options{})
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, submitter.Close()) })
	r.serves(func(o *api.Options) { o.Submitter = submitter })
}

// Every valid id is found, also one that is a word of another address. Invalid ones lead nowhere
// else.
func TestMessagesAreFoundByAnyID(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, id := range []string{"batch", "dry-run", "..", ".", "a:b"} {
		r.accepted(fmt.Sprintf(`{"user":"user%d","id":%q,"send_at":"%s","title":"Hi"}`, i, id, on22("11:11:11")))
		found := into[message.Found](t, http.StatusOK, r.get(messagesPath+"/"+strings.ReplaceAll(id, ".", "%2E")))
		require.Len(t, found.Messages, 1, id)
		require.Equal(t, id, found.Messages[0].ID)
		one := "/v1/users/" + found.Messages[0].User + "/messages/" + strings.ReplaceAll(id, ".", "%2E")
		require.Equal(t, id, into[message.Status](t, http.StatusOK, r.get(one)).ID)
	}
	for _, segment := range []string{"a%2Fb", "%2F", "%2e%2e%2fbatch", "a%20b", "%C3%A4"} {
		p := r.problem(http.StatusUnprocessableEntity, r.get(messagesPath+"/"+segment))
		require.Equal(t, "id", p.Field, segment)
	}
	for _, target := range []string{"/..", "/.", "/", "/batch/", "/batch/dry-run/a"} {
		require.Equal(t, http.StatusNotFound, r.get(messagesPath+target).status, target)
	}
}

func TestMessagesAreFoundWithoutTheirUsers(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t)
	acme, other := r.key("acme", accounts.ScopeSubmit, accounts.ScopeRead), r.key("other", accounts.ScopeSubmit, accounts.ScopeRead)
	admin, all := r.key("operator", accounts.ScopeAdmin), r.key("auditor", accounts.ScopeAdmin, accounts.ScopeContent)
	for i, m := range []struct{ key, user, id, more string }{
		{acme, "alice", "same", `,"campaign":"spring"`},
		{other, "bob", "same", `,"campaign":"spring"`},
		{acme, "alina", "own", `,"category":"news"`},
	} {
		got := r.with(m.key, request{method: http.MethodPost, target: messagesPath, body: fmt.Sprintf(
			`{"user":%q,"id":%q,"send_at":"%s","title":"Hi"%s}`, m.user, m.id, on22(fmt.Sprintf("1%d:00:00", i)), m.more)})
		require.Equal(t, http.StatusCreated, got.status, "%s", got.body)
	}
	find := func(key, target string, into any) {
		t.Helper()
		got := r.with(key, request{method: http.MethodGet, target: target})
		require.Equal(t, http.StatusOK, got.status, "%s", got.body)
		require.NoError(t, json.Unmarshal(got.body, into))
	}
	for _, row := range []struct {
		key   string
		found []string // user and title
	}{
		{acme, []string{"alice Hi"}}, {other, []string{"bob Hi"}}, {admin, []string{"alice ", "bob "}}, {all, []string{"alice Hi", "bob Hi"}},
	} {
		var page message.Found
		find(row.key, messagesPath+"/same", &page)
		var found []string
		for _, m := range page.Messages {
			require.Equal(t, "same", m.ID)
			found = append(found, m.User+" "+m.Title)
		}
		slices.Sort(found)
		require.Equal(t, row.found, found)
	}
	p := r.problem(http.StatusNotFound, r.with(other, request{method: http.MethodGet, target: messagesPath + "/own"}))
	require.Equal(t, `no message "own": it was never accepted, or ended too long ago`, p.Detail)

	for query, want := range map[string][]string{
		"":                                {"alice same", "alina own", "bob same"},
		"?campaign=spring":                {"alice same", "bob same"},
		"?campaign=spring&account=acme":   {"alice same"},
		"?category=news":                  {"alina own"},
		"?status=scheduled&user_prefix=b": {"bob same"},
		"?status=delivered":               nil,
		"?user=alina":                     {"alina own"},
		"?from=" + on22("11:00:00") + "&until=" + on22("12:00:00"): {"bob same"},
	} {
		var found []string
		for cursor := ""; ; {
			var page message.Messages
			target := messagesPath + query
			if cursor != "" {
				target += map[bool]string{true: "?", false: "&"}[query == ""] + "cursor=" + cursor
			}
			find(admin, target, &page)
			for _, m := range page.Messages {
				found = append(found, m.User+" "+m.ID)
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		slices.Sort(found)
		require.Equal(t, want, found, query)
	}
	var page message.Messages
	find(acme, messagesPath+"?limit=1", &page)
	require.Len(t, page.Messages, 1)
	p = r.problem(http.StatusUnprocessableEntity, r.with(acme, request{method: http.MethodGet, target: messagesPath + "?status=moved&cursor=" + page.NextCursor}))
	require.Equal(t, "cursor", p.Field)
	require.Contains(t, p.Detail, "other filters")
	find(acme, messagesPath+"?account=other", &page)
	require.Empty(t, page.Messages, "of another account")
	require.Equal(t, 2, strings.Count(r.log.String(), "content of a message shown"), "what the auditor saw of others")
}

func TestFindingWithoutTheIndex(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	unindexed(r)
	r.accepted(`{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi","campaign":"spring"}`)
	for _, target := range []string{messagesPath + "/a", messagesPath, messagesPath + "?user=alice"} {
		p := r.problem(http.StatusConflict, r.get(target))
		require.Equal(t, fault.CodeIndexOff, p.Code)
		require.Equal(t, "there is no index of all messages: name the campaign, ask with the user, or set index: true, which indexes new messages", p.Detail)
	}
	got := r.get(messagesPath + "?campaign=spring")
	require.Equal(t, http.StatusOK, got.status)
	require.Contains(t, string(got.body), `"alice"`)
}

// However many pages an account asks for together, one is read at a time.
func TestPagesOfAnAccountAreReadInTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	key, at := r.key("acme", accounts.ScopeSubmit, accounts.ScopeRead), &redistest.AtOnce{Name: "zrange"}
	r.client.AddHook(at)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			got := r.with(key, request{method: http.MethodGet, target: messagesPath + "?status=failed"})
			assert.Contains(t, []int{http.StatusOK, http.StatusTooManyRequests}, got.status, "%s", got.body) // 429 after seconds of waiting
		})
	}
	asking.Wait()
	require.Equal(t, 1, at.Most())
}
