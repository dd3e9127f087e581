package api

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func TestABodyIsReadWithoutAPlace(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		source io.Reader
		want   string
		err    error
	}{
		"all of it":       {strings.NewReader("12345"), "12345", nil},
		"more than ahead": {strings.NewReader("1234567890ab"), "1234567890ab", nil},
		"a broken one":    {io.MultiReader(strings.NewReader("123"), iotest.ErrReader(broken)), "123", broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places := semaphore.NewWeighted(1)
			p := &place{among: places, most: 1, what: "requests"}
			require.NoError(t, p.take())
			other := &place{among: places, most: 1, what: "requests"}
			var missing *fault.UnavailableError
			require.ErrorAs(t, other.take(), &missing)
			require.Equal(t, "1 requests are being answered, and no more are at a time: try again in a moment", missing.Detail)
			asked := iotest.OneByteReader(row.source)
			source := readerFunc(func(b []byte) (int, error) {
				if p.held {
					return asked.Read(b) // after what was read ahead
				}
				require.NoError(t, other.take(), "the place is free meanwhile")
				other.leave()
				return asked.Read(b)
			})
			got, err := io.ReadAll(&body{ReadCloser: io.NopCloser(source), ctx: t.Context(), place: p, most: 10})
			require.ErrorIs(t, err, row.err)
			require.Equal(t, row.want, string(got))
			require.True(t, p.held)
			p.leave()
			p.leave()
			require.NoError(t, other.take(), "it was given back, once")
		})
	}
}

// A request whose place is taken while its body comes waits for another, as long as it may
// take.
func TestABodyWithoutAPlaceLeft(t *testing.T) {
	t.Parallel()
	places := semaphore.NewWeighted(1)
	p, other := &place{among: places, most: 1, what: "requests"}, &place{among: places, most: 1, what: "requests"}
	require.NoError(t, p.take())
	ctx, cancel := context.WithCancel(t.Context())
	source := readerFunc(func([]byte) (int, error) {
		require.NoError(t, other.take())
		cancel()
		return 0, io.EOF
	})
	_, err := io.ReadAll(&body{ReadCloser: io.NopCloser(source), ctx: ctx, place: p, most: 10})
	var missing *fault.UnavailableError
	require.ErrorAs(t, err, &missing)
	p.leave()
	require.Error(t, p.take(), "the other has it")

	other.leave()
	_, err = io.ReadAll(&body{ReadCloser: io.NopCloser(strings.NewReader("late")), ctx: ctx, place: p, most: 10})
	require.NoError(t, err, "a free place is taken even if the request's time is over")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
