package channels

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBrake(t *testing.T) {
	t.Parallel()
	t.Run("nothing is believed before the first success", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(judgesFrom - maxOfUser) {
			require.Equal(t, Hold, gone(&b, n, false), n)
		}
		for range 200 {
			require.Equal(t, Hold, gone(&b, 7, false), "the same device counts once")
		}
		for n := range uint64(200) {
			require.Equal(t, Hold, b.gone(2000+n, Sent{User: "0"}, false, time.Now()), "a user counts as five")
		}
		require.Equal(t, Trip, gone(&b, 1000, false))
		require.Equal(t, Trip, gone(&b, 1001, false))
		b.reset()
		require.Equal(t, Hold, gone(&b, 1, false))
	})
	t.Run("more than a fifth are kept", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(ringSize) {
			b.note(n, n == 0)
		}
		for n := range uint64(ringSize * maxGone / 100) {
			require.Equal(t, Remove, gone(&b, 1000+n, false), n)
		}
		require.Nil(t, b.wave(time.Now()))
		require.Equal(t, Keep, gone(&b, 2000, true))
		wave := b.wave(time.Now())
		require.Equal(t, []int{21, 100, 21, 21}, []int{wave.Gone, wave.Of, wave.Accounts["shop"], wave.Campaigns["spring"]})
		for n := range uint64(ringSize) { // the ring forgets
			b.note(n, true)
		}
		require.Equal(t, Remove, gone(&b, 2001, true))
	})
	t.Run("few answers are believed once it is proved", func(t *testing.T) {
		t.Parallel()
		var b brake
		for n := range uint64(judgesFrom - 1) {
			require.Equal(t, Remove, gone(&b, n, true))
		}
		require.Equal(t, Keep, gone(&b, 1000, true))
	})
}

// gone notes a device of a user of its own.
func gone(b *brake, device uint64, proved bool) Judgement {
	return b.gone(device, Sent{Account: "shop", Campaign: "spring", User: strconv.FormatUint(device, 10)}, proved, time.Now())
}
