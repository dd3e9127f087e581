package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page and its plots have the figures of results.json, and say where we lose.
func TestThePageHasTheFigures(t *testing.T) {
	t.Parallel()
	r, err := readResults("results.json")
	require.NoError(t, err)
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Equal(t, r.page(), string(page), "make bench-peers writes it; go run ./peers -page, in bench/peers, writes it from results.json")
	for _, f := range figures() {
		plot, err := os.ReadFile(filepath.Join("plots", f.file+".svg"))
		require.NoError(t, err)
		require.Equal(t, r.plot(f), string(plot), f.file)
	}
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	require.Contains(t, string(text), r.small())
	require.Len(t, r.Sides, len(sides()))
	for i, s := range sides() {
		require.Equal(t, s.name, r.Sides[i].Name)
	}
	for _, ours := range r.Sides[:2] {
		require.Equal(t, wrong{Lines: 81_959, Accepted: 42_514}, ours.Wrong, ours.Name)
		require.Zero(t, ours.Outage.TooClose+ours.Outage.Lost+ours.Crash.Lost+ours.Early, ours.Name)
	}
}
