package api

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// oneSlot returns a slot for requests of everybody.
func oneSlot() *slots {
	return &slots{most: 1, perAccount: 1, perOperator: 1, full: allHeld(1, "requests")}
}

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
			slots, coming := oneSlot(), oneSlot()
			p, other := new(slot), new(slot)
			require.NoError(t, p.take(slots, holder{}))
			var missing *fault.UnavailableError
			require.ErrorAs(t, other.take(slots, holder{}), &missing)
			require.Equal(t, "1 requests are being answered, and no more are at a time: try again in a moment", missing.Detail)
			asked := iotest.OneByteReader(row.source)
			source := readerFunc(func(b []byte) (int, error) {
				if p.held {
					return asked.Read(b) // after what was read ahead
				}
				require.NoError(t, other.take(slots, holder{}), "the slot is free meanwhile")
				other.leave()
				require.Error(t, coming.take(holder{}), "it has one for its body")
				return asked.Read(b)
			})
			got, err := io.ReadAll(&body{ReadCloser: io.NopCloser(source), ctx: t.Context(), slot: p, coming: coming, most: 10})
			require.ErrorIs(t, err, row.err)
			require.Equal(t, row.want, string(got))
			require.True(t, p.held)
			p.leave()
			p.leave()
			require.NoError(t, other.take(slots, holder{}), "it was given back, once")
			require.NoError(t, coming.take(holder{}), "and so was the other one")
		})
	}
}

// If a request's slot is taken while its body arrives, it waits for another until its deadline.
func TestABodyWithoutAPlaceLeft(t *testing.T) {
	t.Parallel()
	slots, coming := oneSlot(), oneSlot()
	p, other := new(slot), new(slot)
	require.NoError(t, p.take(slots, holder{}))
	ctx, cancel := context.WithCancel(t.Context())
	source := readerFunc(func([]byte) (int, error) {
		require.NoError(t, other.take(slots, holder{}))
		cancel()
		return 0, io.EOF
	})
	_, err := io.ReadAll(&body{ReadCloser: io.NopCloser(source), ctx: ctx, slot: p, coming: coming, most: 10})
	require.ErrorAs(t, err, new(*fault.UnavailableError))
	p.leave()
	require.Error(t, p.take(slots, holder{}), "the other has it")

	other.leave()
	_, err = io.ReadAll(&body{ReadCloser: io.NopCloser(strings.NewReader("late")), ctx: ctx, slot: p, coming: coming, most: 10})
	require.NoError(t, err, "a free slot is taken even if the request's time is over")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
