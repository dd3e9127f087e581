package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

var (
	errFull  = errors.New("all are held")
	errShare = errors.New("the account holds as many as it may")
)

// shared returns slots with a maximum for each holder.
func shared(most, perAccount int) *slots {
	return &slots{
		most: most, perAccount: perAccount, perOperator: most, reserve: reserveOf(most),
		full: func() error { return errFull }, share: func(holder, int) error { return errShare },
	}
}

// takesAll takes slots until it gets none, and returns how many it got.
func (p *slots) takesAll(of holder) (n int, err error) {
	for {
		if err = p.take(of); err != nil {
			return n, err
		}
		n++
	}
}

// However many accounts take all they can get, one more gets a slot, and each gets less than those
// before it.
func TestEveryAccountFindsAPlace(t *testing.T) {
	t.Parallel()
	p := shared(256, 256/2)
	for i, want := range []int{128, 64, 32, 16, 8, 4, 2, 1} {
		got, err := p.takesAll(holder{account: fmt.Sprint("account-", i)})
		require.Equal(t, want, got, i)
		require.ErrorIs(t, err, errShare)
	}
	// If accounts give back slots above their share, the shares become equal.
	q := shared(256, 256/2)
	for range 1000 {
		for i := range 3 {
			of := holder{account: fmt.Sprint("account-", i)}
			_, err := q.takesAll(of)
			require.Error(t, err)
			q.leave(of)
		}
	}
	for i := range 3 {
		held := q.held[holder{account: fmt.Sprint("account-", i)}]
		require.InDelta(t, 256/4, held, 2, "three accounts and what is left free")
	}
}

func TestASettingBoundsAnAccount(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ most, perAccount, want int }{
		"a quarter":       {32, 8, 8},
		"most of them":    {32, 31, 16}, // as many stay free
		"all of them":     {32, 32, 32}, // no shares
		"the only one":    {1, 1, 1},
		"two, and a half": {2, 1, 1},
	} {
		got, err := shared(row.most, row.perAccount).takesAll(holder{account: "acme"})
		require.Equal(t, row.want, got, name)
		require.Error(t, err)
	}
}

func TestOperatorsFindAPlace(t *testing.T) {
	t.Parallel()
	p := shared(16, 16)
	got, err := p.takesAll(holder{account: "acme"})
	require.Equal(t, 16, got)
	require.ErrorIs(t, err, errFull)
	got, err = p.takesAll(holder{account: "ops", operator: true})
	require.Equal(t, 2, got, "an eighth")
	require.ErrorIs(t, err, errFull)
	p.leave(holder{account: "acme"})
	require.ErrorIs(t, p.take(holder{account: "acme"}), errFull, "more than all are held")

	alone := shared(16, 8)
	got, _ = alone.takesAll(holder{operator: true})
	require.Equal(t, 16, got, "no share, and no more than there are")
}

// Waiting requests get a slot that is given back, in rotation among accounts, before any newer
// request.
func TestWaitingRequestsTakeTurns(t *testing.T) {
	t.Parallel()
	p := shared(1, 1)
	mallory, acme := holder{account: "mallory"}, holder{account: "acme"}
	require.NoError(t, p.take(mallory))
	got := make(chan holder)
	waits := func(of holder, before int) {
		go func() {
			if p.await(t.Context(), of) == nil {
				got <- of
			}
		}()
		require.Eventually(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.waiting[of]) == before+1
		}, time.Minute, time.Millisecond)
	}
	for i := range 5 {
		waits(mallory, i)
	}
	waits(acme, 0)
	var order []holder
	p.leave(mallory)
	for range 6 {
		of := <-got
		order = append(order, of)
		require.ErrorIs(t, p.take(holder{account: "late"}), errFull)
		p.leave(of)
	}
	require.Equal(t, []holder{mallory, acme, mallory, mallory, mallory, mallory}, order)
	require.Empty(t, p.held)
	require.Empty(t, p.waiting)
	require.Empty(t, p.next)
}

// A request that times out stops waiting, and keeps no slot.
func TestAWaitEnds(t *testing.T) {
	t.Parallel()
	p := shared(1, 1)
	mallory, acme := holder{account: "mallory"}, holder{account: "acme"}
	require.NoError(t, p.take(mallory))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.await(ctx, acme), errFull)
	require.Empty(t, p.waiting)
	require.Empty(t, p.next)
	p.leave(mallory)
	require.NoError(t, p.await(ctx, acme), "a free slot is taken even so")
	p.leave(acme)
	require.Zero(t, p.taken)
}

func TestTurnsAreShared(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{1: 1, 2: 1, 4: 2} {
		turns := newTurns(most, "all are under way", "of them")
		got, err := turns.takesAll(holder{account: "acme"})
		require.Equal(t, want, got)
		require.Error(t, err)
		if most > 1 {
			require.EqualError(t, err, fmt.Sprintf("the account has %d of them, and no more are allowed at a time: try again when one has ended", got))
			require.NoError(t, turns.take(holder{account: "other"}))
			require.NoError(t, turns.take(holder{account: "ops", operator: true}))
		}
	}
}

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

// While others' work is in hand, an account has a few slots for its own, and it has more before and
// after. Nothing waits for work that takes long.
func TestWorkOfAnAccountIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWork(time.Now)
		few, many := int64(w.perAccount), int64(w.alone)
		require.Less(t, few, many)
		var judging atomic.Int64
		of := func(who holder, goOn <-chan struct{}) {
			_, err := lineByLine(w, who, func(context.Context, int) (int, error) {
				judging.Add(1)
				<-goOn
				return 0, nil
			})(t.Context(), 0)
			require.NoError(t, err)
		}
		begin := func(who holder, n int64, goOn <-chan struct{}, atOnce int64) {
			t.Helper()
			began := judging.Load()
			for range n {
				go of(who, goOn)
			}
			synctest.Wait()
			require.Equal(t, atOnce, judging.Load()-began)
		}
		alone := func() { time.Sleep(aloneAfter + time.Millisecond) }
		acme, bank, end := holder{account: "acme"}, holder{account: "bank"}, make(chan struct{})
		begin(acme, 1, end, 1)
		alone()
		begin(acme, 3*many, end, many)
		begin(bank, 2*few, end, few)
		begin(holder{operator: true}, 2*many, end, 2*many)
		time.Sleep(lentFor)
		synctest.Wait()
		require.Equal(t, 1+many+few+2*many+2*few, judging.Load(), "what takes long lets others go on, a few of each")

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := lineByLine(w, acme, func(context.Context, int) (int, error) { return 0, nil })(gone, 0)
		require.ErrorIs(t, err, context.Canceled)
		close(end)
		synctest.Wait()
		require.Equal(t, 1+5*many+2*few, judging.Load())
		require.Zero(t, w.taken)

		end = make(chan struct{})
		begin(acme, 2*many, end, few)
		alone()
		time.Sleep(lentFor)
		synctest.Wait()
		require.GreaterOrEqual(t, judging.Load(), 1+5*many+2*few+many+few, "more of what waits goes on once it is alone")
		close(end)
		synctest.Wait()
		require.Zero(t, w.taken)
	})
}
