package client_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestDryRunBatch(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	noon := a.now.Add(time.Hour)
	plan := []client.Message{
		{User: "alice", ID: "a", SendAt: noon, Title: "Hi"},
		{User: "alice", ID: "b", SendAt: noon.Add(30 * time.Second), Title: "Hi"},
		{User: "alice", ID: "c", SendAt: noon.Add(time.Minute), Title: "Hi"},
	}
	// accepted lists the ids that are accepted.
	accepted := func(rules client.WhatIf, options ...client.BatchOption) string {
		var ids []string
		for i, r := range listed(t, a.DryRunBatch(ctx, slices.Values(plan), rules, options...)) {
			require.Equal(t, i, r.Index)
			if r.Err == nil {
				ids = append(ids, r.Accepted.ID)
			}
		}
		return strings.Join(ids, " ")
	}
	require.Equal(t, "a c", accepted(client.WhatIf{}))
	require.Equal(t, "a b c", accepted(client.WhatIf{Rules: []string{"3/minute"}}))
	require.Equal(t, "a b", accepted(client.WhatIf{Rules: []string{"3/minute", "2/calendar_day"}}, client.WithoutFreeTimes()))
	require.Equal(t, "a", accepted(client.WhatIf{Policy: &client.Policy{Rules: []string{"1/hour"}}}))
	require.Equal(t, "a b", accepted(client.WhatIf{Policy: &client.Policy{Rules: []string{"1/hour"}}, Rules: []string{"2/hour"}}))
	require.Empty(t, listed(t, a.List(ctx, client.ListRequest{User: "alice"})), "nothing was taken")

	var failed *client.BatchError
	var wrong *client.InvalidError
	for _, err := range a.DryRunBatch(ctx, slices.Values(plan), client.WhatIf{Rules: []string{"often"}}) {
		require.ErrorAs(t, err, &failed)
		require.ErrorAs(t, err, &wrong)
	}
	require.Equal(t, "what_if", wrong.Field)
	require.Len(t, failed.Unanswered, 3)
}

// A dry run that breaks off is not continued: the API has forgotten what it judged.
func TestADryRunThatBreaksOffIsNotRetried(t *testing.T) {
	t.Parallel()
	first := client.Message{User: "alice", ID: "a", SendAt: at("2026-11-22T11:11:11Z"), Title: "Hi"}
	for answers, want := range map[string]struct{ requests, results int }{
		"": {requests: 2}, // nothing is lost yet
		`{"outcome":"accepted","line":1,"id":"a","user":"alice","send_at":"2026-11-22T11:11:11.000Z"}` + "\n": {requests: 1, results: 1},
	} {
		e := &exchange{mediaType: ndjson, status: http.StatusOK, body: answers}
		c, err := client.New("http://api.test", client.Options{
			HTTPClient: &http.Client{Transport: e}, Attempts: 2,
		})
		require.NoError(t, err)
		var failed *client.BatchError
		results := 0
		for _, err := range c.DryRunBatch(t.Context(), slices.Values([]client.Message{first, first}), client.WhatIf{}) {
			if err == nil {
				results++
				continue
			}
			require.ErrorAs(t, err, &failed)
		}
		require.NotNil(t, failed)
		require.Len(t, failed.Unanswered, 2-want.results)
		require.Len(t, e.requests, want.requests)
		require.Equal(t, want.results, results)
	}
}
