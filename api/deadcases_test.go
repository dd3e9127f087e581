package api_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

const (
	deadAlertsPath = "/v1/dead-alerts"
	deadAlertPath  = deadAlertsPath + "/{alert}"
	// acmeDead is the report to acme that failedReport has fail.
	acmeDead = deadAlertsPath + "/daily_report%2F1795219200000%2Facme"
)

// failedAlert has an alert or report fail for good, and returns its id.
func (r *rig) failedAlert(kind notices.Kind, subject string) string {
	r.Helper()
	outbox, err := notices.New(r.client, notices.Options{})
	require.NoError(r, err)
	id := notices.FormatID(kind, now().Truncate(24*time.Hour), 80, subject)
	_, err = outbox.Put(r.Context(), notices.Notice{ID: id}, time.Time{})
	require.NoError(r, err)
	nonce := keyspace.NewToken()
	_, err = outbox.Claim(r.Context(), id, nonce, time.Minute, time.Time{})
	require.NoError(r, err)
	held, err := outbox.Settle(r.Context(), id, nonce, notices.Settlement{Outcome: notices.Failed, Reason: "rejected"}, time.Time{})
	require.NoError(r, err)
	require.True(r, held)
	return id
}

func failedReport(r *rig) { r.failedAlert(notices.DailyReport, "acme") }

func deadCases() []contractCase {
	get := func(target string) request { return request{method: http.MethodGet, target: target} }
	remove := func(target string) request { return request{method: http.MethodDelete, target: target} }
	post := func(target string) request { return request{method: http.MethodPost, target: target} }
	return []contractCase{
		{"none", http.MethodGet, deadLettersPath, http.StatusOK, on(nothing, get(deadLettersPath))},
		{"a page", http.MethodGet, deadLettersPath, http.StatusOK, on(failed, get(deadLettersPath+"?user=alice&limit=1"))},
		{"shown", http.MethodGet, deadLetterPath, http.StatusOK, on(failed, get(aliceADead+"?content=true"))},
		{
			"content without the scope", http.MethodGet, deadLetterPath, http.StatusForbidden,
			withKey(failed, "operator", get(aliceADead+"?content=true"), accounts.ScopeAdmin),
		},
		{"none", http.MethodGet, deadLetterPath, http.StatusNotFound, on(booked, get(aliceADead))},
		{"purged", http.MethodDelete, deadLetterPath, http.StatusOK, on(failed, request{method: http.MethodDelete, target: aliceADead})},
		{"none", http.MethodDelete, deadLetterPath, http.StatusNotFound, on(booked, request{method: http.MethodDelete, target: aliceADead})},
		{"retried", http.MethodPost, deadLetterPath + "/retry", http.StatusOK, on(failed, request{method: http.MethodPost, target: aliceADead + "/retry"})},
		{"expired", http.MethodPost, deadLetterPath + "/retry", http.StatusConflict, on(expired, request{method: http.MethodPost, target: aliceADead + "/retry"})},
		{"none", http.MethodPost, deadLetterPath + "/retry", http.StatusNotFound, on(booked, request{method: http.MethodPost, target: aliceADead + "/retry"})},
		{"old ones", http.MethodDelete, deadLettersPath, http.StatusOK, on(failed, remove(deadLettersPath+"?older_than=0s"))},
		{"no age", http.MethodDelete, deadLettersPath, http.StatusUnprocessableEntity, on(failed, remove(deadLettersPath))},

		{"retried", http.MethodPost, deadLettersPath + "/retry", http.StatusOK, on(failed, post(deadLettersPath+"/retry?user=alice"))},
		{"a page", http.MethodPost, deadLettersPath + "/retry", http.StatusOK, on(expired, post(deadLettersPath+"/retry?limit=1"))},

		{"a page", http.MethodGet, deadAlertsPath, http.StatusOK, on(failedReport, get(deadAlertsPath+"?limit=1"))},
		{"shown", http.MethodGet, deadAlertPath, http.StatusOK, on(failedReport, get(acmeDead))},
		{"none", http.MethodGet, deadAlertPath, http.StatusNotFound, on(nothing, get(acmeDead))},
		{"no id", http.MethodGet, deadAlertPath, http.StatusUnprocessableEntity, on(nothing, get(deadAlertsPath+"/a"))},
		{"retried", http.MethodPost, deadAlertPath + "/retry", http.StatusOK, on(failedReport, post(acmeDead+"/retry"))},
		{"none", http.MethodPost, deadAlertPath + "/retry", http.StatusNotFound, on(nothing, post(acmeDead+"/retry"))},
		{"purged", http.MethodDelete, deadAlertPath, http.StatusOK, on(failedReport, remove(acmeDead))},
		{"none", http.MethodDelete, deadAlertPath, http.StatusNotFound, on(nothing, remove(acmeDead))},
		{"old ones", http.MethodDelete, deadAlertsPath, http.StatusOK, on(failedReport, remove(deadAlertsPath+"?older_than=1s"))},
	}
}

// Old dead letters are removed in steps, and younger ones stay.
func TestOldDeadLettersArePurged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, id := range []string{"a", "b", "c"} {
		r.store.SetTime(now().Add(time.Duration(i) * 20 * time.Second))
		r.fails(id)
	}
	purge := func(query string) reply {
		return r.send(request{method: http.MethodDelete, target: deadLettersPath + query})
	}
	for _, wrong := range []struct{ query, field string }{
		{"", "older_than"},
		{"?older_than=", "older_than"},
		{"?older_than=week", "older_than"},
		{"?older_than=-1s", "older_than"},
		{"?older_than=1s&limit=0", "limit"},
	} {
		require.Equal(t, wrong.field, r.problem(http.StatusUnprocessableEntity, purge(wrong.query)).Field, wrong.query)
	}
	require.Equal(t, message.DeadPurge{}, into[message.DeadPurge](t, http.StatusOK, purge("?older_than=65535d")))
	r.store.SetTime(now().Add(50 * time.Second))
	require.Equal(t, message.DeadPurge{Purged: 1, More: true}, into[message.DeadPurge](t, http.StatusOK, purge("?older_than=20s&limit=1")))
	require.Equal(t, message.DeadPurge{Purged: 1}, into[message.DeadPurge](t, http.StatusOK, purge("?older_than=20s")))
	left := into[message.DeadLetters](t, http.StatusOK, r.get(deadLettersPath)).DeadLetters
	require.Len(t, left, 1)
	require.Equal(t, "c", left[0].ID)
}

// Dead alerts are listed page by page, shown, delivered after all and removed, as on the command
// line.
func TestDeadAlerts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	subjects := []string{"alice", "a/b", "bob", "acme"}
	var ids, listed []string
	for i, subject := range subjects {
		kind := notices.UserQuota
		if subject == "acme" {
			kind = notices.DailyReport
		}
		r.store.SetTime(now().Add(time.Duration(i) * time.Second))
		ids = append(ids, r.failedAlert(kind, subject))
	}
	alerts := func(page message.DeadAlerts) ([]message.DeadAlert, string) { return page.DeadAlerts, page.NextCursor }
	for _, alert := range pagesOf(r, deadAlertsPath+"?limit=3", alerts) {
		listed = append(listed, alert.Alert)
	}
	require.Equal(t, ids, listed)
	require.Equal(t, "cursor", r.problem(http.StatusUnprocessableEntity, r.get(deadAlertsPath+"?cursor=")).Field)

	at := func(id string) string { return deadAlertsPath + "/" + url.PathEscape(id) }
	shown := into[message.DeadAlert](t, http.StatusOK, r.get(at(ids[1])))
	require.Equal(t, []any{"user_quota", "a/b", 80, "failed", "rejected", 1}, []any{
		shown.Kind, shown.Subject, shown.Threshold, shown.Status, shown.Reason, shown.Attempts,
	})
	require.Equal(t, message.AlertDone{Outcome: message.Retried, Alert: ids[1]},
		into[message.AlertDone](t, http.StatusOK, r.post(at(ids[1])+"/retry", "")))
	p := r.problem(http.StatusNotFound, r.post(at(ids[1])+"/retry", ""))
	require.Equal(t, []any{fault.CodeNotFound, "alert"}, []any{p.Code, p.Field})
	remove := func(target string) reply { return r.send(request{method: http.MethodDelete, target: target}) }
	require.Equal(t, message.AlertDone{Outcome: message.Purged, Alert: ids[0]},
		into[message.AlertDone](t, http.StatusOK, remove(at(ids[0]))))
	require.Equal(t, "alert", r.problem(http.StatusNotFound, r.get(at(ids[0]))).Field)
	require.Equal(t, "alert", r.problem(http.StatusUnprocessableEntity, remove(deadAlertsPath+"/x")).Field)

	r.store.SetTime(now().Add(4 * time.Second))
	require.Equal(t, message.DeadPurge{Purged: 1, More: true},
		into[message.DeadPurge](t, http.StatusOK, remove(deadAlertsPath+"?older_than=1s&limit=1")))
	require.Equal(t, message.DeadPurge{}, into[message.DeadPurge](t, http.StatusOK, remove(deadAlertsPath+"?older_than=1s&limit=1")), "one ended a second ago")
	require.Equal(t, message.DeadPurge{Purged: 1}, into[message.DeadPurge](t, http.StatusOK, remove(deadAlertsPath+"?older_than=0s")))
	require.Empty(t, into[message.DeadAlerts](t, http.StatusOK, r.get(deadAlertsPath)).DeadAlerts)
}
