package sendlimit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

func TestLayout(t *testing.T) {
	t.Parallel()
	server, client := sendlimittest.EmbeddedRedis(t)
	version, err := sendlimit.ReadLayout(t.Context(), client, "")
	require.NoError(t, err)
	require.Zero(t, version)
	require.Empty(t, server.Keys(), "reading marks nothing")

	for range 2 {
		require.NoError(t, sendlimit.CheckLayout(t.Context(), client, ""))
		version, err = sendlimit.ReadLayout(t.Context(), client, "")
		require.NoError(t, err)
		require.Equal(t, sendlimit.LayoutVersion, version)
	}
	version, err = sendlimit.ReadLayout(t.Context(), client, "other")
	require.NoError(t, err)
	require.Zero(t, version, "each prefix has its own")
}

func TestLayoutOfANewerProgram(t *testing.T) {
	t.Parallel()
	for _, newer := range []string{"2", "1.1", "two"} {
		server, client := sendlimittest.EmbeddedRedis(t)
		server.HSet("sl:meta", "layout", newer)
		_, err := sendlimit.ReadLayout(t.Context(), client, "")
		for _, err := range []error{err, sendlimit.CheckLayout(t.Context(), client, "")} {
			require.EqualError(t, err, `the store has layout "`+newer+`", this program knows up to 1: use the newer program, or another prefix`)
			var unfit *sendlimit.UnavailableError
			require.ErrorAs(t, err, &unfit)
			require.Equal(t, sendlimit.CodeUnavailable, unfit.Code())
		}
		require.Equal(t, newer, server.HGet("sl:meta", "layout"), "it is left as it is")
	}
}

func TestLayoutThatCannotBeRead(t *testing.T) {
	t.Parallel()
	server, client := sendlimittest.EmbeddedRedis(t)
	server.SetError("LOADING Redis is loading the dataset in memory")
	client.Options().MaxRetries = 0
	_, err := sendlimit.ReadLayout(t.Context(), client, "")
	for _, err := range []error{err, sendlimit.CheckLayout(t.Context(), client, "")} {
		require.ErrorContains(t, err, "Redis is still loading its data: try again in a moment")
	}
	_, err = sendlimit.ReadLayout(t.Context(), client, "A")
	var invalid *sendlimit.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, "prefix", invalid.Field)
}
