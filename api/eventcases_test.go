package api_test

import (
	"net/http"
	"time"

	"github.com/stretchr/testify/require"

	logs "github.com/sendlimit/sendlimiter/records/events"
)

// called has acme have a callback.
func called(r *rig) {
	acme(r)
	_, err := r.options.Callbacks.Set(r.Context(), "acme", "https://example.com/events", "")
	require.NoError(r, err)
}

// dying has acme have three dead events, and returns the id of the first.
func dying(r *rig) string {
	called(r)
	r.happens("acme", 1, 3)
	state, err := logs.NewCallbacks(r.client, logs.Options{})
	require.NoError(r, err)
	turn, _, ok, err := state.Take(r.Context(), "acme", "a", time.Minute)
	require.NoError(r, err)
	require.True(r, ok)
	latest, err := r.options.Callbacks.Log().Latest(r.Context(), "acme")
	require.NoError(r, err)
	dead, _, err := state.Settle(r.Context(), turn, logs.Outcome{Reason: "gone", Last: latest, Count: 3})
	require.NoError(r, err)
	require.Equal(r, 3, dead)
	page, err := r.options.Callbacks.DeadEvents(r.Context(), "acme", "", 1)
	require.NoError(r, err)
	return page.DeadEvents[0].ID
}

func withDead(r *rig) { dying(r) }

func eventCases() []contractCase {
	const url = `{"url":"https://example.com/events"}`
	send := func(method, target, body string) request { return request{method: method, target: target, body: body} }
	dead := deadEventsPath + "?account=acme"
	noID := "&id=1-1"
	return []contractCase{
		{"page", http.MethodGet, "/v1/events", http.StatusOK, on(withDead, send(http.MethodGet, "/v1/events?follow=false", ""))},
		{"shown with its callback", http.MethodGet, accountPath, http.StatusOK, on(withDead, send(http.MethodGet, "/v1/accounts/acme", ""))},
		{"set", http.MethodPut, callbackPath, http.StatusOK, on(acme, send(http.MethodPut, acmeCallback, url))},
		{"unknown account", http.MethodPut, callbackPath, http.StatusNotFound, on(nothing, send(http.MethodPut, acmeCallback, url))},
		{"internal", http.MethodPut, callbackPath, http.StatusUnprocessableEntity, on(acme, send(http.MethodPut, acmeCallback, `{"url":"https://10.0.0.1/"}`))},
		{"removed", http.MethodDelete, callbackPath, http.StatusOK, on(called, send(http.MethodDelete, acmeCallback, ""))},
		{"unknown account", http.MethodDelete, callbackPath, http.StatusNotFound, on(nothing, send(http.MethodDelete, acmeCallback, ""))},
		{"rotated", http.MethodPost, callbackPath + "/rotate", http.StatusOK, on(called, send(http.MethodPost, acmeCallback+"/rotate", `{"overlap":"1h"}`))},
		{"none", http.MethodPost, callbackPath + "/rotate", http.StatusNotFound, on(acme, send(http.MethodPost, acmeCallback+"/rotate", `{}`))},
		{"listed", http.MethodGet, deadEventsPath, http.StatusOK, on(withDead, send(http.MethodGet, dead+"&limit=2", ""))},
		{"retried", http.MethodPost, deadEventsPath + "/retry", http.StatusOK, on(withDead, send(http.MethodPost, deadEventsPath+"/retry?account=acme", ""))},
		{"none", http.MethodPost, deadEventsPath + "/retry", http.StatusNotFound, on(withDead, send(http.MethodPost, deadEventsPath+"/retry?account=acme"+noID, ""))},
		{"purged", http.MethodDelete, deadEventsPath, http.StatusOK, on(withDead, send(http.MethodDelete, dead, ""))},
		{"none", http.MethodDelete, deadEventsPath, http.StatusNotFound, on(withDead, send(http.MethodDelete, dead+noID, ""))},
	}
}
