package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
)

// traces is a judge that keeps a trace of each line it judged, by user.
type traces struct {
	t       *testing.T
	mu      sync.Mutex
	now     map[string]int
	kept    int
	most    int             // that were kept at a time
	gone    map[string]bool // users whose traces were cleared
	clears  int
	judging atomic.Int64
}

func newTraces(t *testing.T) *traces {
	t.Helper()
	return &traces{t: t, now: make(map[string]int), gone: make(map[string]bool)}
}

// judge says how many of the user's lines were judged before, which no clear may
// have made it forget.
func (j *traces) judge(_ context.Context, m message.Message) (message.Outcome, error) {
	j.judging.Add(1)
	defer j.judging.Add(-1)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.gone[m.User] {
		return message.Outcome{}, fmt.Errorf("%s was cleared", m.User)
	}
	j.now[m.User]++
	j.kept++
	j.most = max(j.most, j.kept)
	return message.Outcome{Outcome: message.Accepted, ID: m.ID, User: m.User, Detail: strconv.Itoa(j.now[m.User])}, nil
}

func (j *traces) clear(context.Context) error {
	if j.judging.Load() > 0 {
		return errors.New("a line is being judged")
	}
	for user := range j.now {
		j.gone[user] = true
	}
	clear(j.now)
	j.kept = 0
	j.clears++
	return nil
}

// outcomes keeps what it is given.
type outcomes []message.Outcome

func (o *outcomes) Emit(one message.Outcome) error {
	*o = append(*o, one)
	return nil
}

func (o *outcomes) Flush() error { return nil }

// runBoth runs the same lines at once and in groups, and requires the same of
// both.
func runBoth(t *testing.T, users []string, o bulk.GroupOptions) *traces {
	t.Helper()
	var want, got outcomes
	require.NoError(t, bulk.Run(t.Context(), (&file{users: users, end: io.EOF}).next, newTraces(t).judge, &want, bulk.Options{}))
	j := newTraces(t)
	o.Folder = t.TempDir()
	require.NoError(t, bulk.RunInGroups(t.Context(), (&file{users: users, end: io.EOF}).next, j.judge, j.clear, &got, o))
	require.Equal(t, want, got)
	requireEmpty(t, o.Folder)
	return j
}

func requireEmpty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestGroupsGiveTheSameOutcomes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		users  []string
		bound  int
		most   int
		clears int // at least
	}{
		"no lines":                          {nil, 100, 0, 0},
		"one line":                          {several(1), 100, 1, 1},
		"a few lines are one batch":         {several(100), 100, 100, 1},
		"several batches":                   {fileOf(5000, 300).users, 500, 500, 10},
		"groups too large are told apart":   {fileOf(8000, 3000).users, 100, 100, 80},
		"one user's lines are never":        {the("whale", 1000), 10, 1000, 1},
		"nor is a user from those together": {mixed(several(2000), the("whale", 1000)), 50, 1000, 40},
		"two whales are":                    {mixed(the("whale", 1000), the("orca", 900)), 10, 1000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := runBoth(t, row.users, bulk.GroupOptions{Group: row.bound})
			require.LessOrEqual(t, j.most, row.most)
			require.GreaterOrEqual(t, j.clears, row.clears)
			require.Zero(t, j.kept, "the last is cleared, too")
		})
	}
}

// All that an outcome and a line can have comes back from the files as it was.
func TestGroupsKeepAllThatThereIs(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 11, 11, 11, 1e6, time.UTC)
	whole := bulk.Line{Number: 7, Message: message.Message{
		ID: "i", User: "älice", SendAt: at, Now: true, Category: "news", Title: "t", Body: "b",
		Data: map[string]string{"k": "", "": "v"}, ExpiresAt: at.Add(1), OnConflict: "shift", ShiftUntil: at.Add(2), Account: "acme",
	}}
	wrong := bulk.Line{Number: 8, Invalid: fault.InvalidErrors{{Field: "f", Value: "v", Want: "w"}}, Message: message.Message{ID: "j", User: "bob"}}
	refused := message.Outcome{
		Outcome: message.Refused, Line: 7, Code: fault.CodeSendLimit, ID: "i", User: "älice", SendAt: message.Time{Time: at},
		Detail: "no", NextFreeAt: message.Time{Time: at.Add(time.Hour)}, RetryAfterSeconds: 3,
		Violations: []message.Violation{
			{Rule: "1/minute", Limit: 1, Conflicts: []message.Conflict{{ID: "k", SendAt: message.Time{Time: at}}}, ConflictsTotal: 1},
			{Rule: "1/hour", Conflicts: []message.Conflict{}},
		},
	}
	lines := []bulk.Line{whole, wrong}
	var judged []message.Message
	var got outcomes
	require.NoError(t, bulk.RunInGroups(t.Context(), func() (bulk.Line, error) {
		if len(lines) == 0 {
			return bulk.Line{}, io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}, func(_ context.Context, m message.Message) (message.Outcome, error) {
		judged = append(judged, m)
		return refused, nil
	}, newTraces(t).clear, &got, bulk.GroupOptions{}))
	require.Equal(t, []message.Message{whole.Message}, judged)
	require.Equal(t, outcomes{refused, {
		Outcome: message.Invalid, Line: 8, Code: fault.CodeInvalidField, Field: "f", ID: "j", User: "bob", Detail: wrong.Invalid.Error(),
	}}, got)
}

func TestGroupsTellTheirPhases(t *testing.T) {
	t.Parallel()
	var phases []string
	j := newTraces(t)
	lines := fileOf(50, 5)
	next := func() (bulk.Line, error) {
		line, err := lines.next()
		if line.Number%10 == 1 {
			line.Invalid = fault.InvalidErrors{{Field: "f", Value: "v", Want: "w"}}
		}
		return line, err
	}
	require.NoError(t, bulk.RunInGroups(t.Context(), next, j.judge, j.clear, new(outcomes), bulk.GroupOptions{
		Phase: func(p bulk.Phase, lines int) { phases = append(phases, fmt.Sprint(p, " ", lines)) },
	}))
	require.Equal(t, []string{"0 0", "1 45", "2 50"}, phases, "the judge does not get what is invalid")
}

func TestGroupsThatFailHandNothingOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("no store")
	for name, row := range map[string]struct {
		judge bulk.Judge
		clear func(context.Context) error
		err   error
	}{
		"the judge": {func(ctx context.Context, m message.Message) (message.Outcome, error) {
			if m.ID == "line-7777" {
				return message.Outcome{}, broken
			}
			return accept(ctx, m)
		}, func(context.Context) error { return nil }, broken},
		"clear": {accept, func(context.Context) error { return broken }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			got := new(outcomes)
			err := bulk.RunInGroups(t.Context(), fileOf(10_000, 300).next, row.judge, row.clear, got, bulk.GroupOptions{Group: 20, Folder: folder})
			require.ErrorIs(t, err, row.err)
			var unfinished *bulk.UnfinishedError
			require.ErrorAs(t, err, &unfinished)
			require.Equal(t, 10_000, unfinished.Lines)
			require.Less(t, unfinished.Judged, 10_000)
			require.Positive(t, unfinished.Judged)
			require.Empty(t, *got)
			requireEmpty(t, folder)
		})
	}
}

func TestGroupsEndWithTheContext(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]bulk.Phase{"reading": bulk.Reading, "judging": bulk.Judging, "handing on": bulk.HandingOn} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			folder := t.TempDir()
			j := newTraces(t)
			got := new(outcomes)
			err := bulk.RunInGroups(ctx, fileOf(5000, 300).next, j.judge, j.clear, got, bulk.GroupOptions{
				Folder: folder, Phase: func(p bulk.Phase, _ int) {
					if p == at {
						cancel()
					}
				},
			})
			require.ErrorIs(t, err, context.Canceled)
			require.Empty(t, *got)
			requireEmpty(t, folder)
		})
	}
}

// Who types the lines in need not type one more.
func TestGroupsDoNotWaitForTheInput(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	err := bulk.RunInGroups(ctx, func() (bulk.Line, error) {
		cancel()
		<-release
		return bulk.Line{}, io.EOF
	}, accept, newTraces(t).clear, new(outcomes), bulk.GroupOptions{})
	require.EqualError(t, err, "stopped after 0 of 0 lines: context canceled")
}

func TestGroupsOfABrokenFileAreJudgedAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	f := fileOf(500, 10)
	f.end = errors.New("disk on fire")
	got := &sink{}
	j := newTraces(t)
	err := bulk.RunInGroups(t.Context(), f.next, j.judge, j.clear, got, bulk.GroupOptions{Group: 100})
	require.EqualError(t, err, "stopped at line 501: disk on fire")
	got.requireFirst(t, 501)
}

func TestGroupsStopWithTheSink(t *testing.T) {
	t.Parallel()
	j := newTraces(t)
	got := &sink{err: errors.New("disk full"), errAt: 100}
	err := bulk.RunInGroups(t.Context(), fileOf(500, 10).next, j.judge, j.clear, got, bulk.GroupOptions{})
	require.EqualError(t, err, "stopped at line 100: disk full")
	require.Len(t, got.lines, 99)
}

func TestGroupsWithoutAFolderForTheirFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() + "/absent"
	err := bulk.RunInGroups(t.Context(), fileOf(5, 5).next, accept, newTraces(t).clear, new(outcomes), bulk.GroupOptions{Folder: folder})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "stopped after 0 of 0 lines: creating a temporary file for lines: ")
}

// Whatever the users and the bound are.
func TestGroupsAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		users := make([]string, random.IntN(3000))
		few := 1 + random.IntN(1000)
		for i := range users {
			users[i] = fmt.Sprint("user-", random.IntN(1+random.IntN(few)))
		}
		runBoth(t, users, bulk.GroupOptions{Group: 1 + random.IntN(200)})
	}
}
