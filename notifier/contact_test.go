package notifier_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// announcing remembers whom it was to tell, and whether it was closed.
type announcing struct {
	to     []string
	closed error
}

func (a *announcing) Announce(_ context.Context, to string, _ notifier.Notice) notifier.Result {
	a.to = append(a.to, to)
	return notifier.Result{Status: notifier.Delivered}
}

func (a *announcing) Close() error { return a.closed }

func TestAContactIsToldByItsKind(t *testing.T) {
	t.Parallel()
	mails, posts := &announcing{}, &announcing{closed: errors.New("not closed")}
	both := notifier.ByContact{Email: mails, Webhook: posts}
	for _, to := range []string{"ops@example.com", "https://example.com/a@b", "HTTPS://example.com", "https@example.com", "http://example.com"} {
		require.Equal(t, notifier.Delivered, both.Announce(t.Context(), to, notifier.Notice{}).Status)
	}
	require.Equal(t, []string{"ops@example.com", "https@example.com", "http://example.com"}, mails.to)
	require.Equal(t, []string{"https://example.com/a@b", "HTTPS://example.com"}, posts.to)
	require.ErrorIs(t, both.Close(), posts.closed)
}

func TestAContactThatNothingIsSetUpFor(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"ops@example.com", "https://example.com/secret"} {
		result := notifier.ByContact{}.Announce(t.Context(), to, notifier.Notice{})
		require.NoError(t, result.Validate())
		require.Equal(t, notifier.Retry, result.Status)
		require.False(t, result.Uncertain())
		require.ErrorIs(t, result.Err, notifier.ErrNoChannel)
		require.NotContains(t, result.Err.Error(), to)
	}
	require.NoError(t, notifier.ByContact{}.Close())
}

// A key that changed would let a notice retried across an upgrade arrive twice.
func TestNoticeKeyIsFrozen(t *testing.T) {
	t.Parallel()
	const id = "account_quota/1795305600000/80/acme"
	require.Regexp(t, "^[0-9a-f]{32}$", notifier.NoticeKey(id))
	require.Equal(t, "49e148e191b69c5e55519141e06bd681", notifier.NoticeKey(id))
	require.NotEqual(t, notifier.NoticeKey(id), notifier.NoticeKey(id+"x"))
}
