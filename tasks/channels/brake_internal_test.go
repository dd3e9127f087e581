package channels

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBrake(t *testing.T) {
	t.Parallel()
	t.Run("nothing is believed before the first success", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(judgesFrom - 1) {
			require.Equal(t, hold, b.gone(n, false), n)
		}
		for range 200 {
			require.Equal(t, hold, b.gone(7, false), "the same device counts once")
		}
		require.Equal(t, trip, b.gone(1000, false))
		require.Equal(t, trip, b.gone(1001, false))
		b.reset()
		require.Equal(t, hold, b.gone(1, false))
	})
	t.Run("more than a fifth trips it", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(ringSize) {
			b.note(n, n == 0)
		}
		for n := range uint64(ringSize * mostGone / 100) {
			require.Equal(t, remove, b.gone(1000+n, false), n)
		}
		require.Equal(t, trip, b.gone(2000, true))
		for n := range uint64(ringSize) { // the ring forgets
			b.note(n, true)
		}
		require.Equal(t, remove, b.gone(2001, true))
	})
	t.Run("few answers are believed once it is proved", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(judgesFrom - 1) {
			require.Equal(t, remove, b.gone(n, true))
		}
		require.Equal(t, trip, b.gone(1000, true))
	})
}
