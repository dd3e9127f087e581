package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

func TestDeliveriesAreJudged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deliveries")
	d := newDeliveries(path)
	require.NoError(t, d.read(), "before the worker's first delivery")
	require.NoError(t, os.WriteFile(path, []byte("once,1000000\ntwice,1000000\nearly,99"), 0o600))
	require.NoError(t, d.read())
	require.Len(t, d.times, 2, "a line that is being written")
	require.NoError(t, os.WriteFile(path, []byte("once,1000000\ntwice,1000000\nearly,990000\ntwice,7000000\n"), 0o600))
	require.NoError(t, d.read())

	due := time.UnixMilli(999)
	var accepted []side.Message
	for _, id := range []string{"once", "twice", "early", "never"} {
		accepted = append(accepted, side.Message{ID: id, At: due})
	}
	o := d.judge(accepted)
	require.Equal(t, outcome{Lost: 1, Doubled: 1, Early: 1, late: []float64{1, 1, -9}}, o)
	require.ErrorContains(t, o.exact(), "1 messages lost, 1 doubled")
	require.NoError(t, d.judge(accepted[:1]).exact())

	seconds, waited := d.after(time.UnixMilli(-4005), accepted)
	require.InDelta(t, 5.005, seconds, 0.001)
	require.Equal(t, 2, waited)
}
