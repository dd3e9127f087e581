package notifier_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// A cleanup waits for the caller, if the caller collects cleanups.
func TestCleanup(t *testing.T) {
	t.Parallel()
	var done []string
	does := func(name string) func() { return func() { done = append(done, name) } }

	notifier.Cleanup(t.Context(), does("at once"))
	require.Equal(t, []string{"at once"}, done)

	ctx, clean := notifier.WithCleanup(t.Context())
	notifier.Cleanup(ctx, does("first"))
	notifier.Cleanup(ctx, does("second"))
	require.Len(t, done, 1)
	clean()
	require.Equal(t, []string{"at once", "first", "second"}, done)
	clean()
	require.Len(t, done, 3)

	notifier.Cleanup(ctx, does("too late to wait"))
	require.Len(t, done, 4)
}
