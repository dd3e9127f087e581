package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
)

const (
	waitFor = 10 * time.Second
	tick    = 5 * time.Millisecond
)

// file gives lines numbered from 1, of the users in turn, and then its end.
type file struct {
	users []string
	end   error
	read  atomic.Int64
}

func (f *file) next() (bulk.Line, error) {
	n := int(f.read.Add(1))
	if n > len(f.users) {
		f.read.Add(-1)
		return bulk.Line{}, f.end
	}
	return bulk.Line{Number: n, Message: message.Message{ID: fmt.Sprintf("line-%d", n), User: f.users[n-1]}}, nil
}

func fileOf(lines, users int) *file {
	f := &file{end: io.EOF}
	random := rand.New(rand.NewPCG(1, 1))
	for range lines {
		f.users = append(f.users, fmt.Sprintf("user-%d", random.IntN(users)))
	}
	return f
}

// sink keeps what it is given.
type sink struct {
	lines   []int
	ids     []string
	last    message.Outcome
	flushed int
	err     error // of every Emit from the line on
	errAt   int
}

func (s *sink) Emit(o message.Outcome) error {
	if s.err != nil && o.Line >= s.errAt {
		return s.err
	}
	s.lines, s.ids, s.last = append(s.lines, o.Line), append(s.ids, o.ID), o
	return nil
}

func (s *sink) Flush() error {
	s.flushed = len(s.lines)
	return nil
}

// requireFirst requires that the sink got the lines before a line, in order.
func (s *sink) requireFirst(t *testing.T, line int) {
	t.Helper()
	require.Len(t, s.lines, line-1)
	for i, n := range s.lines {
		require.Equal(t, i+1, n)
	}
	require.Equal(t, line-1, s.flushed)
}

func accept(_ context.Context, m message.Message) (message.Outcome, error) {
	return message.Outcome{Outcome: message.Accepted, ID: m.ID, User: m.User}, nil
}

func TestAUsersLinesAreJudgedInOrderOthersBeside(t *testing.T) {
	t.Parallel()
	f := fileOf(20_000, 300)
	var mu sync.Mutex
	judged, inFlight := make(map[string][]string), make(map[string]bool)
	var now, most atomic.Int64
	got := &sink{}
	err := bulk.Run(t.Context(), f.next, func(ctx context.Context, m message.Message) (message.Outcome, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		mu.Lock()
		busy := inFlight[m.User]
		inFlight[m.User] = true
		judged[m.User] = append(judged[m.User], m.ID)
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		delete(inFlight, m.User)
		mu.Unlock()
		if busy {
			return message.Outcome{}, errors.New("two lines of a user at once")
		}
		return accept(ctx, m)
	}, got, bulk.Options{})
	require.NoError(t, err)
	got.requireFirst(t, 20_001)
	want := make(map[string][]string)
	for i, user := range f.users {
		want[user] = append(want[user], fmt.Sprintf("line-%d", i+1))
		require.Equal(t, fmt.Sprintf("line-%d", i+1), got.ids[i])
	}
	require.Equal(t, want, judged)
	require.Greater(t, most.Load(), int64(1))
	require.LessOrEqual(t, most.Load(), int64(64))
}

func TestAnInvalidLineIsAnOutcome(t *testing.T) {
	t.Parallel()
	lines := []bulk.Line{
		{Number: 2, Invalid: fault.InvalidErrors{{Field: "send_at", Value: "x", Want: "a time"}}, Message: message.Message{ID: "i", User: "u"}},
	}
	got := &sink{}
	err := bulk.Run(t.Context(), func() (bulk.Line, error) {
		if len(lines) == 0 {
			return bulk.Line{}, io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}, accept, got, bulk.Options{})
	require.NoError(t, err)
	require.Equal(t, message.Outcome{
		Outcome: message.Invalid, Line: 2, Code: fault.CodeInvalidField, Field: "send_at", ID: "i", User: "u",
		Detail: `send_at "x" is not allowed: use a time`,
	}, got.last)
}

func TestAFailureStopsWithTheLineToGoOnFrom(t *testing.T) {
	t.Parallel()
	const failing = 7777
	broken := errors.New("no store")
	f := fileOf(20_000, 300)
	var mu sync.Mutex
	judged := make(map[string]bool)
	got := &sink{}
	err := bulk.Run(t.Context(), f.next, func(ctx context.Context, m message.Message) (message.Outcome, error) {
		if m.ID == fmt.Sprintf("line-%d", failing) {
			return message.Outcome{}, broken
		}
		mu.Lock()
		judged[m.ID] = true
		mu.Unlock()
		return accept(ctx, m)
	}, got, bulk.Options{})
	require.ErrorIs(t, err, broken)
	var stopped *bulk.StoppedError
	require.ErrorAs(t, err, &stopped)
	require.Equal(t, 1, stopped.Failed)
	require.LessOrEqual(t, stopped.Line, failing)
	got.requireFirst(t, stopped.Line)
	require.False(t, judged[fmt.Sprintf("line-%d", stopped.Line)], "the first line that was not judged")
	for i := failing; i < len(f.users); i++ {
		if f.users[i] == f.users[failing-1] {
			require.False(t, judged[fmt.Sprintf("line-%d", i+1)], "the user's later lines wait for the one without an answer")
		}
	}
	require.Less(t, len(judged), failing+32768)
}

// Of whom nobody knows the rules: the lines of others are judged.
func TestUnknownRulesStopNobodyElse(t *testing.T) {
	t.Parallel()
	unknown := &fault.UnavailableError{Detail: "no such policy", Err: sendlimit.ErrUnknownPolicy}
	judge := func(ctx context.Context, m message.Message) (message.Outcome, error) {
		if m.User == "user-1" {
			return message.Outcome{}, unknown
		}
		return accept(ctx, m)
	}
	for name, run := range map[string]func(*file, *sink) error{
		"lines": func(f *file, s *sink) error { return bulk.Run(t.Context(), f.next, judge, s, bulk.Options{}) },
		"groups": func(f *file, s *sink) error {
			forget := func(context.Context) error { return nil }
			return bulk.RunInGroups(t.Context(), f.next, judge, forget, s, bulk.GroupOptions{Folder: t.TempDir()})
		},
	} {
		f := fileOf(1000, 10)
		f.users[999] = "user-1"
		got := &sink{}
		require.NoError(t, run(f, got), name)
		got.requireFirst(t, 1001)
		require.Equal(t, message.Outcome{
			Outcome: message.Errored, Code: fault.CodeUnavailable, ID: "line-1000", User: "user-1", Line: 1000, Detail: "no such policy",
		}, got.last, name)
	}
}

func TestTheLinesBeforeABrokenPlaceAreJudged(t *testing.T) {
	t.Parallel()
	f := fileOf(5000, 10)
	f.end = errors.New("disk on fire")
	got := &sink{}
	err := bulk.Run(t.Context(), f.next, accept, got, bulk.Options{})
	require.EqualError(t, err, "stopped at line 5001: disk on fire")
	require.ErrorIs(t, err, f.end)
	got.requireFirst(t, 5001)
}

func TestAnInterruptFinishesWhatIsBeingJudged(t *testing.T) {
	t.Parallel()
	f := fileOf(20_000, 300)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := &sink{}
	err := bulk.Run(ctx, f.next, func(ctx context.Context, m message.Message) (message.Outcome, error) {
		if m.ID == "line-3000" {
			cancel()
		}
		return message.Outcome{Outcome: message.Accepted, ID: m.ID}, ctx.Err()
	}, got, bulk.Options{})
	require.ErrorIs(t, err, context.Canceled)
	var stopped *bulk.StoppedError
	require.ErrorAs(t, err, &stopped)
	require.Zero(t, stopped.Failed)
	got.requireFirst(t, stopped.Line)
}

// Who types the lines in, or pipes them in slowly, need not type one more.
func TestAnInterruptDoesNotWaitForTheInput(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan struct{})
	release := make(chan struct{})
	defer close(release)
	f := fileOf(3, 2)
	got := &sink{}
	var judging atomic.Int64
	err := bulk.Run(ctx, func() (bulk.Line, error) {
		line, err := f.next()
		if errors.Is(err, io.EOF) {
			close(waiting)
			<-release
		}
		return line, err
	}, func(ctx context.Context, m message.Message) (message.Outcome, error) {
		if judging.Add(1) == 3 { // the last of them, in whatever lane
			go func() { <-waiting; cancel() }()
		}
		return accept(ctx, m)
	}, got, bulk.Options{})
	require.EqualError(t, err, "stopped at line 4: context canceled")
	got.requireFirst(t, 4)
}

func TestASinkThatFailsStopsTheRest(t *testing.T) {
	t.Parallel()
	f := fileOf(20_000, 300)
	full := errors.New("disk full")
	got := &sink{err: full, errAt: 100}
	err := bulk.Run(t.Context(), f.next, accept, got, bulk.Options{})
	require.EqualError(t, err, "stopped at line 100: disk full")
	got.requireFirst(t, 100)
	require.Less(t, f.read.Load(), int64(20_000))
}

func TestNoMoreIsReadThanTheWindow(t *testing.T) {
	t.Parallel()
	f := fileOf(50_000, 300)
	held, release := make(chan struct{}), make(chan struct{})
	got := &sink{}
	done := make(chan error, 1)
	var judged atomic.Int64
	go func() {
		done <- bulk.Run(t.Context(), f.next, func(ctx context.Context, m message.Message) (message.Outcome, error) {
			if m.ID == "line-1" {
				close(held)
				<-release
			}
			judged.Add(1)
			return accept(ctx, m)
		}, got, bulk.Options{})
	}()
	<-held
	// The lanes of the other users go on, as far as the window reaches.
	require.Eventually(t, func() bool { return f.read.Load() == 32769 }, waitFor, tick)
	require.Eventually(t, func() bool { return judged.Load() > 24000 }, waitFor, tick)
	require.Never(t, func() bool { return f.read.Load() > 32769 }, tick*5, tick)
	close(release)
	require.NoError(t, <-done)
	got.requireFirst(t, 50_001)
}

func TestLanesAndWindowAreOptions(t *testing.T) {
	t.Parallel()
	const lanes, window = 3, 100
	f := fileOf(1000, 300)
	release := make(chan struct{})
	var now, most atomic.Int64
	got := &sink{}
	done := make(chan error, 1)
	go func() {
		done <- bulk.Run(t.Context(), f.next, func(ctx context.Context, m message.Message) (message.Outcome, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			<-release
			return accept(ctx, m)
		}, got, bulk.Options{Lanes: lanes, Window: window})
	}()
	require.Eventually(t, func() bool { return now.Load() == lanes && f.read.Load() == window+1 }, waitFor, tick)
	require.Never(t, func() bool { return now.Load() > lanes || f.read.Load() > window+1 }, tick*5, tick)
	close(release)
	require.NoError(t, <-done)
	got.requireFirst(t, 1001)
	require.LessOrEqual(t, most.Load(), int64(lanes))
}

// The lines of the user who has most do not begin when all others are done.
func TestALongChainBeginsInTime(t *testing.T) {
	t.Parallel()
	const (
		lanes, window = 8, 4096
		each          = time.Millisecond
		others        = 3000 // a line each
		long          = 350  // 350 ms in a row, in 419 ms of work for all lanes
	)
	for name, file := range map[string]*file{
		"at the beginning":  {end: io.EOF, users: append(the("whale", long), several(others)...)},
		"at the end":        {end: io.EOF, users: append(several(others), the("whale", long)...)},
		"between the lines": {end: io.EOF, users: mixed(several(others), the("whale", long))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got := &sink{}
				err := bulk.Run(t.Context(), file.next, func(ctx context.Context, m message.Message) (message.Outcome, error) {
					time.Sleep(each)
					return accept(ctx, m)
				}, got, bulk.Options{Lanes: lanes, Window: window})
				require.NoError(t, err)
				got.requireFirst(t, len(file.users)+1)
				best := time.Duration((others + long) / lanes * int(each))
				require.InDelta(t, best.Milliseconds(), time.Since(began).Milliseconds(), float64(best.Milliseconds())*0.1,
					"no more than a tenth above what the work takes on all lanes")
			})
		})
	}
}

func the(user string, lines int) []string {
	users := make([]string, lines)
	for i := range users {
		users[i] = user
	}
	return users
}

func several(users int) []string {
	all := make([]string, users)
	for i := range all {
		all[i] = fmt.Sprint("user-", i)
	}
	return all
}

// mixed spreads the few evenly among the many.
func mixed(many, few []string) []string {
	var all []string
	every := len(many) / len(few)
	for i, user := range many {
		all = append(all, user)
		if i%every == 0 && i/every < len(few) {
			all = append(all, few[i/every])
		}
	}
	return all
}
