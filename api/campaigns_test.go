package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// inSpring has alice get a and b of the campaign spring, an hour apart.
func inSpring(r *rig) {
	r.accepted(`{"user":"alice","id":"a","send_at":"` + on22("11:11:11") + `","title":"Hi","campaign":"spring"}`)
	r.accepted(`{"user":"alice","id":"b","send_at":"` + on22("12:11:11") + `","title":"Hi","campaign":"spring"}`)
}

// movingSpring has somebody else move the campaign.
func movingSpring(r *rig) {
	inSpring(r)
	key := keyspace.KeysUnder(keyspace.DefaultPrefix).Turn(keyspace.CampaignWork("/spring"))
	_, taken, _, err := turn.NewJob(r.client, key, "move 1h0m0s").Take(r.Context(), 100*time.Millisecond) // for ever, on the store's clock
	require.NoError(r, err)
	require.True(r, taken)
}

func campaignCases() []contractCase {
	post := func(below, body string) request {
		return request{method: http.MethodPost, target: springPath + below, body: body}
	}
	return []contractCase{
		{"counted", http.MethodGet, campaignPath, http.StatusOK, on(inSpring, request{method: http.MethodGet, target: springPath})},
		{"paused", http.MethodPost, campaignPath + "/pause", http.StatusOK, on(inSpring, post("/pause", ""))},
		{"no messages", http.MethodPost, campaignPath + "/pause", http.StatusNotFound, on(nothing, post("/pause", ""))},
		{"resumed", http.MethodPost, campaignPath + "/resume", http.StatusOK, on(inSpring, post("/resume", ""))},
		{"cancelled", http.MethodPost, campaignPath + "/cancel", http.StatusOK, on(inSpring, post("/cancel", ""))},
		{"nothing to cancel", http.MethodPost, campaignPath + "/cancel", http.StatusNotFound, on(nothing, post("/cancel", ""))},
		{"reopened", http.MethodPost, campaignPath + "/reopen", http.StatusOK, on(nothing, post("/reopen", ""))},
		{"dry_run", http.MethodPost, campaignPath + "/move", http.StatusOK, on(inSpring, post("/move", `{"by":"1h","dry_run":true}`))},
		{"moved", http.MethodPost, campaignPath + "/move", http.StatusOK, on(inSpring, post("/move", `{"by":"1h"}`))},
		{"too far", http.MethodPost, campaignPath + "/move", http.StatusUnprocessableEntity, on(inSpring, post("/move", `{"by":"8785h"}`))},
		{"running", http.MethodPost, campaignPath + "/move", http.StatusConflict, on(movingSpring, post("/move", `{"by":"1h"}`))},
	}
}

// worked returns the ids of the refused messages, and the summary, of work on a campaign.
func (r *rig) worked(got reply) (refused []string, summary message.CampaignSummary) {
	r.Helper()
	require.Equal(r, http.StatusOK, got.status, string(got.body))
	require.Equal(r, "application/x-ndjson", got.header.Get("Content-Type"))
	lines := bytes.Split(bytes.TrimSpace(got.body), []byte("\n"))
	for i, line := range lines {
		var o message.Outcome
		require.NoError(r, json.Unmarshal(line, &o))
		switch {
		case i == len(lines)-1:
			require.NoError(r, json.Unmarshal(line, &summary))
		case o.Outcome == message.Refused:
			refused = append(refused, o.ID)
		default:
			require.Equal(r, message.CampaignProgressing, o.Outcome)
		}
	}
	require.True(r, summary.Complete)
	return refused, summary
}

// An account counts, pauses, moves and cancels its campaign. Another one sees nothing of it.
func TestCampaigns(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t, locked)
	own := r.key("own", accounts.ScopeSubmit, accounts.ScopeRead)
	other := r.key("other", accounts.ScopeSubmit, accounts.ScopeRead)
	operator := r.key("operator", accounts.ScopeAdmin)
	as := func(secret, method, target, body string) reply {
		return r.with(secret, request{method: method, target: target, body: body})
	}
	for id, at := range map[string]string{"a": on22("11:11:11"), "b": on22("12:11:11")} {
		got := as(own, http.MethodPost, "/v1/messages", `{"user":"alice","id":"`+id+`","send_at":"`+at+`","title":"Hi","campaign":"spring"}`)
		require.Equal(t, http.StatusCreated, got.status, string(got.body))
	}
	count := func(secret, query string) message.CampaignStatus {
		t.Helper()
		return into[message.CampaignStatus](r, http.StatusOK, as(secret, http.MethodGet, springPath+query, ""))
	}
	move := func(secret, body string) ([]string, message.CampaignSummary) {
		t.Helper()
		return r.worked(as(secret, http.MethodPost, springPath+"/move", body))
	}
	require.Equal(t, map[string]int{"scheduled": 2}, count(own, "").Statuses)
	require.Equal(t, 2, count(operator, "?account=own").Messages)
	require.Zero(t, count(operator, "").Messages, "the operator's own account has none")

	paused := into[message.CampaignStatus](r, http.StatusOK, as(own, http.MethodPost, springPath+"/pause", ""))
	require.False(t, paused.PausedSince.IsZero())
	require.Equal(t, paused, count(own, ""))
	_, summary := r.worked(as(own, http.MethodPost, springPath+"/resume", ""))
	require.Equal(t, message.CampaignResumed, summary.Outcome)
	require.True(t, count(own, "").PausedSince.IsZero())

	require.Zero(t, count(other, "").Messages)
	require.Equal(t, fault.CodeNotFound, r.problem(http.StatusNotFound, as(other, http.MethodPost, springPath+"/cancel", "")).Code)
	require.Equal(t, fault.CodeForbidden, r.problem(http.StatusForbidden, as(other, http.MethodPost, springPath+"/cancel?account=own", "")).Code)
	require.Equal(t, "campaign", r.problem(http.StatusUnprocessableEntity, as(own, http.MethodGet, "/v1/campaigns/a%20b", "")).Field)

	refused, summary := move(own, `{"by":"1h","dry_run":true}`)
	require.Equal(t, []string{"a"}, refused, "b is in its way")
	require.Equal(t, message.CampaignDryRun, summary.Outcome)
	require.Equal(t, 1, summary.Done)
	refused, summary = move(own, `{"by":"1h"}`)
	require.Empty(t, refused)
	require.Equal(t, message.CampaignMoved, summary.Outcome)
	require.Equal(t, 2, summary.Done)
	status := into[message.Status](r, http.StatusOK, as(own, http.MethodGet, aliceA, ""))
	require.Equal(t, on22("12:11:11"), status.SendAt.UTC().Format(time.RFC3339))

	_, summary = r.worked(as(own, http.MethodPost, springPath+"/cancel", ""))
	require.Equal(t, message.CampaignCancelled, summary.Outcome)
	require.Equal(t, 2, summary.Done)
	require.Equal(t, map[string]int{"cancelled": 2}, count(own, "").Statuses)
	require.False(t, count(own, "").EndedAt.IsZero())
	const another = `{"user":"bob","id":"c","send_at":"2026-11-22T13:00:00Z","title":"Hi","campaign":"spring"}`
	require.Equal(t, fault.CodeCampaignEnded, r.problem(http.StatusConflict, as(own, http.MethodPost, "/v1/messages", another)).Code)
	reopened := into[message.CampaignStatus](r, http.StatusOK, as(own, http.MethodPost, springPath+"/reopen", ""))
	require.True(t, reopened.EndedAt.IsZero())
}

// A large campaign is counted in several answers, each with the counts so far.
func TestACountOfManyMessages(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	r := newRig(t, func(o *api.Options) { o.Limits.Count = 1 })
	const many = find.MaxPage + 7
	keys := keyspace.KeysUnder("sl")
	story.StoreCampaign(t, r.client, keys, "spring", many, now().Add(time.Hour))
	first := into[message.CampaignStatus](t, http.StatusOK, r.post(springPath+"/pause", ""))
	require.Equal(t, find.MaxPage, first.Messages)
	require.False(t, first.PausedSince.IsZero())
	require.Equal(t, first, into[message.CampaignStatus](t, http.StatusOK, r.get(springPath)))
	last := into[message.CampaignStatus](t, http.StatusOK, r.get(springPath+"?more="+first.More))
	require.Equal(t, many, last.Messages)
	require.Equal(t, map[string]int{message.StatusScheduled: many}, last.Statuses)
	require.Empty(t, last.More)
	for _, query := range []string{"?more=", "?more=x", "?more=e30"} {
		require.Equal(t, "more", r.problem(http.StatusUnprocessableEntity, r.get(springPath+query)).Field)
	}
	require.Equal(t, "more", r.problem(http.StatusUnprocessableEntity, r.get("/v1/campaigns/fall?more="+first.More)).Field)
}
