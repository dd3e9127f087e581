package client_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// A dry run that breaks off is not continued, since the API has lost its state.
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
