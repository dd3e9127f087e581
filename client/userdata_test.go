package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestExportAndEraseUser(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	none := func() {
		t.Helper()
		for event, err := range a.ExportUser(ctx, "alice") {
			require.ErrorIs(t, err, client.ErrNotFound)
			require.Zero(t, event)
		}
	}
	none()
	for _, user := range []string{"alice", "bob"} {
		_, err := a.Submit(ctx, client.Message{ID: "a", User: user, SendAt: a.now.Add(time.Hour), Title: "Hi"})
		require.NoError(t, err)
	}
	var titles []any
	var summary *client.UserExport
	entries := 0
	for _, event := range listed(t, a.ExportUser(ctx, "alice")) {
		if event.Entry != nil {
			entries++
			if event.Entry.List == "messages" {
				titles = append(titles, event.Entry.Entry["title"])
			}
		}
		summary = event.Exported
	}
	require.Equal(t, []any{"Hi"}, titles)
	require.Equal(t, "alice", summary.User)
	require.Equal(t, entries, summary.Entries)

	var erased *client.UserErasure
	for _, event := range listed(t, a.EraseUser(ctx, "alice", 0)) {
		erased = event.Erased
	}
	require.Equal(t, 1, erased.Messages)
	require.Equal(t, 1, erased.Cancelled)
	require.Zero(t, erased.Running)
	none()
	require.Len(t, listed(t, a.List(ctx, client.ListRequest{User: "bob"})), 1, "the others stay")

	var wrong *client.InvalidError
	for _, err := range a.EraseUser(ctx, "", 0) {
		require.ErrorAs(t, err, &wrong)
	}
	require.Equal(t, "user", wrong.Field)
	for _, err := range a.EraseUser(ctx, "bob", time.Hour) {
		require.ErrorAs(t, err, &wrong)
	}
	require.Equal(t, "wait", wrong.Field)
}
