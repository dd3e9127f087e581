package policy

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

func TestRefitOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options refitOptions
		want    message.RefitAction
		wrong   string
	}{
		{options: refitOptions{}, want: message.RefitKeep},
		{options: refitOptions{dryRun: true}, want: message.RefitKeep},
		{options: refitOptions{then: "shift"}, want: message.RefitShift},
		{options: refitOptions{then: "cancel"}, want: message.RefitCancel},
		{options: refitOptions{then: "drop"}, wrong: `then "drop" is not allowed: use keep, shift or cancel`},
		{options: refitOptions{dryRun: true, then: "shift"}, wrong: "--dry-run and --then exclude each other"},
	} {
		action, err := c.options.check()
		if c.wrong != "" {
			require.ErrorContains(t, err, c.wrong)
			require.Equal(t, cli.StatusInvalid, cli.ExitCode(err))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, action)
	}
}

// view is a refitView on buffers, as programs and files have it.
func view(asJSON bool) (v *refitView, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return newRefitView(cli.Program{Stdout: stdout, Stderr: stderr}, asJSON), stdout, stderr
}

func misfit(outcome string, code fault.Code) message.Misfit {
	at := message.Time{Time: time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)}
	m := message.Misfit{Outcome: outcome, Code: code, ID: "order-17", User: "alice", SendAt: at, Breaks: "2/calendar_day"}
	if outcome == message.Moved {
		m.MovedFrom, m.SendAt = at, message.Time{Time: at.Add(24 * time.Hour)}
	}
	return m
}

func TestRefitViewListsMisfits(t *testing.T) {
	t.Parallel()
	v, stdout, _ := view(false)
	v.bar.Show(0, keyspace.Partitions)
	for _, m := range []message.Misfit{
		misfit(message.MisfitFound, ""), misfit(message.Moved, ""), misfit(message.Cancelled, ""), misfit(message.MisfitGone, ""),
		misfit(message.MisfitKept, fault.CodeSendLimit), misfit(message.MisfitKept, fault.CodeBlocked),
	} {
		require.NoError(t, v.misfit(m))
	}
	v.bar.Show(keyspace.Partitions, keyspace.Partitions)
	require.NoError(t, v.end(message.RefitSummary{
		Outcome: message.Refitted, RefitTotals: message.RefitTotals{
			Users: 20, Reservations: 40, MisfitUsers: 3, Misfits: 7, UnclearUsers: 1,
			MisfitsByRule: map[string]int{"2/calendar_day": 5, "quiet_hours": 1, "marketing 1/hour": 1},
		},
		Moved: 4, Kept: 2, Gone: 1, First: 10, Next: keyspace.Partitions,
	}, nil))
	require.Equal(t, strings.TrimLeft(`
2026-11-22 11:11:11 UTC  2/calendar_day  alice  order-17
2026-11-22 11:11:11 UTC  2/calendar_day  alice  order-17  moved to 2026-11-23 11:11:11 UTC
2026-11-22 11:11:11 UTC  2/calendar_day  alice  order-17  cancelled
2026-11-22 11:11:11 UTC  2/calendar_day  alice  order-17  sent, moved or cancelled meanwhile
2026-11-22 11:11:11 UTC  2/calendar_day  alice  order-17  kept: no other time is free before it expires
2026-11-22 11:11:11 UTC  2/calendar_day  alice  order-17  kept: the user is blocked
This run continued after part 10 of 1024 of the store. With the earlier runs:
7 of 40 pending messages do not fit, of 3 of 20 users.
         5  2/calendar_day
         1  marketing 1/hour
         1  quiet_hours
1 user was skipped: the policy in their settings is missing or unreadable.
Of these: 4 moved, 2 kept, 1 sent, moved or cancelled meanwhile.
`, "\n"), stdout.String())
}

// A person who watches is shown some, and how many more there are.
func TestRefitViewOnATerminal(t *testing.T) {
	t.Parallel()
	v, stdout, _ := view(false)
	v.watched = true
	for range misfitsShown + 7 {
		require.NoError(t, v.misfit(misfit(message.MisfitFound, "")))
	}
	require.Equal(t, misfitsShown, strings.Count(stdout.String(), "order-17"))
	require.NoError(t, v.end(message.RefitSummary{Outcome: message.DryRun}, nil))
	require.Contains(t, stdout.String(), "… and 7 more: redirect the output to see all\n")
	require.Contains(t, stdout.String(), "Nothing was changed.\n")

	v, stdout, _ = view(true)
	v.watched = true
	for range misfitsShown + 7 {
		require.NoError(t, v.misfit(misfit(message.MisfitFound, "")))
	}
	require.Equal(t, misfitsShown+7, strings.Count(stdout.String(), "order-17"), "JSON has them all")
}

func TestRefitViewThatEndsEarly(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	v, stdout, stderr := view(false)
	v.bar.Show(0, keyspace.Partitions)
	require.ErrorIs(t, v.end(message.RefitSummary{Outcome: message.Refitted, Moved: 3, Next: 512}, enough), enough)
	require.Empty(t, stdout.String())
	require.Equal(t, "stopped after 512 of 1024 parts of the store: 3 moved so far; run the command again to continue\n", stderr.String())

	v, stdout, _ = view(true)
	require.ErrorIs(t, v.end(message.RefitSummary{}, enough), enough)
	require.Empty(t, stdout.String(), "nothing was begun")
	v.bar.Show(0, keyspace.Partitions)
	require.NoError(t, v.misfit(misfit(message.Moved, "")))
	require.ErrorIs(t, v.end(message.RefitSummary{Outcome: message.Refitted, Moved: 1, Next: 3}, enough), enough)
	lines := strings.Split(stdout.String(), "\n")
	require.Len(t, lines, 3)
	require.Empty(t, lines[2], "each line ends")
	require.JSONEq(t, `{"outcome":"moved","id":"order-17","user":"alice","send_at":"2026-11-23T11:11:11.000Z",`+
		`"moved_from":"2026-11-22T11:11:11.000Z","breaks":"2/calendar_day","detail":""}`, lines[0])
	require.JSONEq(t, `{"outcome":"refitted","policy":"","users":0,"reservations":0,"misfit_users":0,"misfits":0,`+
		`"misfits_by_rule":null,"moved":1,"next_partition":3}`, lines[1])
}
