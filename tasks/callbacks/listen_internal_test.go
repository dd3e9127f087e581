package callbacks

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// Events may be kept for a minute only. A Sender that listened once an hour would miss most.
func TestASenderListensForAsLongAsEventsAreKept(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	o := events.Options{Keep: time.Minute}
	listeners := events.NewListeners(client, keyspace.KeysUnder(""))
	callbacks, err := events.NewCallbacks(client, o)
	require.NoError(t, err)
	s := &Sender{Listeners: listeners, Callbacks: callbacks, Clock: storeclock.NewClocks(client, ""), Logger: slog.New(slog.DiscardHandler)}
	for _, row := range []struct {
		before  time.Duration // when it last listened
		listens bool
	}{
		{time.Second, false},
		{o.Keep / 2, true},
	} {
		require.NoError(t, listeners.Forget(t.Context(), "acme"))
		s.listen(t.Context(), "acme", &attention{listened: s.Clock.Local().Add(-row.before)})
		listening, err := listeners.Load(t.Context())
		require.NoError(t, err)
		require.Equal(t, row.listens, len(listening.Accounts()) > 0, row.before)
	}
}
