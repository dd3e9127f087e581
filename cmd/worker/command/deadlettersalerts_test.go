package command

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// failedAlert has an alert of a user fail for good.
func (g *given) failedAlert(user string) (id string) {
	g.Helper()
	outbox, err := notices.New(g.client, notices.Options{})
	require.NoError(g, err)
	id = notices.FormatID(notices.UserQuota, g.now.Truncate(24*time.Hour), 80, user)
	_, err = outbox.Put(g.Context(), notices.Notice{ID: id}, time.Time{})
	require.NoError(g, err)
	nonce := keyspace.NewToken()
	_, err = outbox.Claim(g.Context(), id, nonce, time.Minute, time.Time{})
	require.NoError(g, err)
	held, err := outbox.Settle(g.Context(), id, nonce, notices.Settlement{Outcome: notices.Failed, Reason: "rejected"}, time.Time{})
	require.NoError(g, err)
	require.True(g, held)
	return id
}

func TestDeadLettersThatAreAlerts(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	id := g.failedAlert("alice")
	status, stdout, _ := g.runs("list")
	require.Equal(t, cli.StatusDone, status)
	require.Contains(t, stdout, "2026-11-22 11:11:11 UTC")
	require.Contains(t, stdout, id)
	_, stdout, _ = g.runs("list --user bob")
	require.Equal(t, "There are no dead letters.\n", stdout)
	_, stdout, _ = g.runs("list --json")
	require.JSONEq(t, `{"alert":"`+id+`","kind":"user_quota","subject":"alice","since":"2026-11-22T00:00:00.000Z","threshold":80,`+
		`"status":"failed","reason":"rejected","attempts":1,"ended_at":"2026-11-22T11:11:11.000Z"}`, stdout)

	status, stdout, _ = g.runs("show --alert " + id)
	require.Equal(t, cli.StatusDone, status)
	require.Contains(t, stdout, "failed: alert "+id)
	require.Contains(t, stdout, "reason     rejected")

	status, stdout, _ = g.runs("retry --alert " + id)
	require.Equal(t, cli.StatusDone, status)
	require.Equal(t, "retried: alert "+id+" is delivered again\n", stdout)
	for _, command := range []string{"show", "retry", "purge"} {
		status, _, stderr := g.runs(command + " --alert " + id)
		require.Equal(t, cli.StatusNotFound, status, command)
		require.Equal(t, "not found: no dead letter of alert \""+id+"\": list shows the dead letters\n", stderr)
	}

	other := g.failedAlert("bob")
	status, stdout, _ = g.runs("purge --json --alert " + other)
	require.Equal(t, cli.StatusDone, status)
	require.JSONEq(t, `{"outcome":"purged","alert":"`+other+`"}`, stdout)
	g.failedAlert("cleo")
	g.failedAlert("dora")
	g.server.SetTime(g.now.Add(time.Second))
	status, stdout, _ = g.runs("purge --alerts --all --yes --json")
	require.Equal(t, cli.StatusDone, status)
	require.JSONEq(t, `{"purged":2,"more":false}`, stdout)
}

// A retry of all sends messages, or alerts, and never both.
func TestAlertsAreRetriedTogetherAndApart(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	g.dead("alice", "a", time.Hour)
	g.failedAlert("cleo")
	g.failedAlert("dora")
	g.server.SetTime(g.now.Add(time.Second))
	require.NotContains(t, g.prints("list --alerts"), "alice")
	require.Equal(t, 3, strings.Count(g.prints("list --alerts"), "\n"))

	status, _, stderr := g.runs("retry --alerts --all")
	require.Equal(t, cli.StatusInvalid, status)
	require.Equal(t, "error: --yes is required without a terminal\n", stderr)
	require.Equal(t, "retried 2 dead alerts\n", g.prints("retry --alerts --all --yes"))
	require.Equal(t, "There are no dead alerts.\n", g.prints("list --alerts"))
	require.Contains(t, g.prints("list"), "alice", "the message is still dead")
	require.Equal(t, "retried 0 dead alerts\n", g.prints("retry --alerts --all"))

	g.failedAlert("erin")
	g.server.SetTime(g.now.Add(2 * time.Second))
	require.Equal(t, "retried 1 dead letter\n1 dead alert left: see sendlimit-worker dead-letters retry --alerts --all\n",
		g.prints("retry --all --yes"))
	require.Equal(t, "0 dead letters forgotten\n1 dead alert left: see sendlimit-worker dead-letters purge --alerts --all\n",
		g.prints("purge --all --yes"))
	require.Equal(t, "0 dead alerts forgotten\n", g.prints("purge --alerts --older-than 1d"))
	require.Equal(t, "1 dead alert forgotten\n", g.prints("purge --alerts --all --yes"))
}

func TestAlertsAreNamedByTheirIDAlone(t *testing.T) {
	t.Parallel()
	g := newGiven(t)
	for _, arguments := range []string{
		"show --alert x order-17", "retry --alert x --user alice", "retry --alert x --all", "purge --alert x --older-than 7d",
		"retry --alerts", "retry --alerts --alert x", "retry --alerts --user alice order-17", "purge --alerts --user alice --all",
		"show", "show --user alice", "show order-17",
	} {
		status, _, _ := g.runs(arguments)
		require.Equal(t, cli.StatusInvalid, status, arguments)
	}
	for _, command := range []string{"show", "retry", "purge"} {
		status, stdout, stderr := g.runs(command + " --alert x")
		require.Equal(t, cli.StatusInvalid, status, command)
		require.Contains(t, stdout+stderr, `alert "x" is not allowed: use the id of an alert, as the list of dead letters shows it`)
	}
}
