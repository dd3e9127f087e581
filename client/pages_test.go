package client_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestAListIsAskedForPageByPage(t *testing.T) {
	t.Parallel()
	var queries []string
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RequestURI())
		switch r.FormValue("cursor") {
		case "":
			reply(w, plainJSON, http.StatusOK, `{"messages":[{"id":"a"},{"id":"b"}],"next_cursor":"x/+="}`)
		case "x/+=":
			reply(w, plainJSON, http.StatusOK, `{"messages":[],"next_cursor":"y"}`) // an empty page is not the end
		default:
			reply(w, plainJSON, http.StatusOK, `{"messages":[{"id":"c"}]}`)
		}
	})
	list := c.ListMessages(t.Context(), "a/b", client.ListMessagesQuery{From: at("2026-11-22T11:00:00+01:00"), Until: at("2026-11-23T00:00:00Z"), Limit: 2})
	for range 2 { // a list can be gone through again
		queries = nil
		var ids []string
		for m, err := range list {
			require.NoError(t, err)
			ids = append(ids, m.ID)
		}
		require.Equal(t, []string{"a", "b", "c"}, ids)
		const same = "from=2026-11-22T10%3A00%3A00Z&limit=2&until=2026-11-23T00%3A00%3A00Z"
		require.Equal(t, []string{
			"/v1/users/a%2Fb/messages?" + same,
			"/v1/users/a%2Fb/messages?cursor=x%2F%2B%3D&" + same,
			"/v1/users/a%2Fb/messages?cursor=y&" + same,
		}, queries)
	}
}

func TestAListThatGoesRoundEnds(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) {
		reply(w, plainJSON, http.StatusOK, `{"dead_letters":[{"id":"a"}],"next_cursor":"x"}`)
	})
	var last error
	n := 0
	for _, err := range c.ListDeadLetters(t.Context(), client.ListDeadLettersQuery{}) {
		last = err
		n++
	}
	require.Equal(t, 2, n)
	require.ErrorAs(t, last, new(*client.ResponseError))
}

func TestAListThatFails(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("cursor") != "" {
			reply(w, problemJSON, http.StatusServiceUnavailable, unavailableBody)
			return
		}
		reply(w, plainJSON, http.StatusOK, `{"messages":[{"id":"a"}],"next_cursor":"x"}`)
	})
	var got []string
	for m, err := range c.ListMessages(t.Context(), "alice", client.ListMessagesQuery{}) {
		got = append(got, fmt.Sprint(m.ID, err))
	}
	require.Equal(t, []string{"a<nil>", "list a user's messages: no Redis"}, got)
}

// A policy that only a newer API can read is listed among the others by name.
func TestAPageOfPolicies(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) {
		reply(w, plainJSON, http.StatusOK, `{"policies":[{"name":"default"},{"name":"vip"}],"unreadable":["new"]}`)
	})
	require.Equal(t, []client.ListedPolicy{
		{Policy: client.Policy{Name: "default"}}, {Policy: client.Policy{Name: "new"}, Unreadable: true}, {Policy: client.Policy{Name: "vip"}},
	}, listed(t, c.ListPolicies(t.Context(), client.ListPoliciesQuery{})))
}

// A count that an answer does not finish goes on, to its end.
func TestACountGoesOn(t *testing.T) {
	t.Parallel()
	var asked []string
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		more := map[string]string{"": "x/+=", "x/+=": "y"}[r.FormValue("more")]
		reply(w, plainJSON, http.StatusOK, fmt.Sprintf(`{"campaign":"spring","messages":%d,"statuses":{},"more":%q}`, 1000*len(asked), more))
	})
	counts := listed(t, c.CampaignCounts(t.Context(), "spring", client.CountCampaignQuery{Account: "acme"}))
	require.Len(t, counts, 3)
	status := counts[2]
	require.Equal(t, 3000, status.Messages)
	require.Empty(t, status.More)
	const path = "/v1/campaigns/spring"
	require.Equal(t, []string{
		"GET " + path + "?account=acme", "GET " + path + "?account=acme&more=x%2F%2B%3D", "GET " + path + "?account=acme&more=y",
	}, asked)

	asked = nil
	status, err := c.PauseCampaign(t.Context(), "spring", client.PauseCampaignQuery{Account: "acme"})
	require.NoError(t, err)
	require.Equal(t, "x/+=", status.More, "there are more")
	require.Len(t, asked, 1)
}

func TestACountThatGoesRoundEnds(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, _ *http.Request) {
		reply(w, plainJSON, http.StatusOK, `{"campaign":"spring","messages":1,"statuses":{},"more":"x"}`)
	})
	said := all(c.CampaignCounts(t.Context(), "spring", client.CountCampaignQuery{}))
	err, _ := said[len(said)-1].(error)
	require.ErrorAs(t, err, new(*client.ResponseError))
}
