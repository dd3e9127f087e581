package events_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// callback is the callback of acme, whose events are numbered.
type callback struct {
	*testing.T
	*events.Callbacks

	log  *events.Log
	last int
}

func newCallback(t *testing.T, client redis.UniversalClient) *callback {
	t.Helper()
	c := &callback{T: t, log: open(t, client, events.Options{})}
	var err error
	c.Callbacks, err = events.NewCallbacks(client, events.Options{})
	require.NoError(t, err)
	return c
}

// happen appends events.
func (c *callback) happen(n int) {
	c.Helper()
	var more []events.Event
	for range n {
		c.last++
		more = append(more, event(fmt.Sprintf("7-%d", c.last), c.last))
	}
	appended, err := c.log.Append(c.Context(), "acme", 5, more)
	require.NoError(c, err)
	require.Equal(c, n, appended)
}

// take takes the turn, and returns the next events.
func (c *callback) take(nonce string) (events.Turn, []events.Event) {
	c.Helper()
	turn, _, ok, err := c.Take(c.Context(), "acme", nonce, time.Minute)
	require.NoError(c, err)
	require.True(c, ok)
	read, err := c.log.Read(c.Context(), "acme", turn.Cursor, 100)
	require.NoError(c, err)
	return turn, read
}

// settles records an outcome.
func (c *callback) settles(turn events.Turn, o events.Outcome) int {
	c.Helper()
	dead, held, err := c.Settle(c.Context(), turn, o)
	require.NoError(c, err)
	require.True(c, held)
	return dead
}

// waits takes no turn, and returns until when.
func (c *callback) waits(nonce string) time.Time {
	c.Helper()
	_, next, ok, err := c.Take(c.Context(), "acme", nonce, time.Minute)
	require.NoError(c, err)
	require.False(c, ok)
	return next
}

func (c *callback) progress() events.Progress {
	c.Helper()
	p, err := c.Progress(c.Context(), "acme")
	require.NoError(c, err)
	return p
}

func TestOneWorkerHasTheTurn(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		c := newCallback(t, client)
		_, _, _, err := c.Take(t.Context(), "acme", "a", time.Minute)
		require.ErrorIs(t, err, events.ErrNoCallback)
		c.happen(2) // before the callback was set
		require.NoError(t, c.Begin(t.Context(), "acme", false))
		require.Zero(t, c.waits("a"))
		c.happen(3)
		require.NoError(t, c.Begin(t.Context(), "acme", false), "the second time changes nothing")
		require.Equal(t, 3, c.progress().Waiting)

		turn, read := c.take("a")
		require.Len(t, read, 3)
		require.Equal(t, "m-3", read[0].MessageID)
		require.Equal(t, events.Turn{Account: "acme", Nonce: "a", Now: turn.Now, Cursor: turn.Cursor, Waiting: 3}, turn)
		require.True(t, c.waits("b").After(turn.Now), "until the lease of the other worker ends")
		again, _ := c.take("a") // whose reply got lost
		again.Now = turn.Now
		require.Equal(t, turn, again)

		require.Zero(t, c.settles(turn, events.Outcome{Last: read[1].ID, Count: 2}))
		_, held, err := c.Settle(t.Context(), turn, events.Outcome{Last: read[1].ID, Count: 2})
		require.NoError(t, err)
		require.False(t, held, "the turn has ended")
		turn, read = c.take("b")
		require.Len(t, read, 1)
		require.Equal(t, "m-5", read[0].MessageID)
		c.settles(turn, events.Outcome{Wait: time.Hour, Last: read[0].ID, Count: 1})
		c.happen(1)
		require.True(t, c.waits("c").After(turn.Now.Add(59*time.Minute)), "the pace")
		p := c.progress()
		require.Equal(t, 1, p.Waiting)
		require.False(t, p.SucceededAt.IsZero())
		require.Zero(t, p.Failing)

		require.NoError(t, c.Forget(t.Context(), "acme"))
		_, held, err = c.Settle(t.Context(), turn, events.Outcome{Last: read[0].ID, Count: 1})
		require.NoError(t, err)
		require.False(t, held)
		require.Zero(t, c.progress())
	})
}

func TestEventsThatAreGivenUp(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		c := newCallback(t, client)
		require.NoError(t, c.Begin(t.Context(), "acme", true))
		c.happen(1)
		turn, read := c.take("posted")
		require.Zero(t, c.settles(turn, events.Outcome{Last: read[0].ID, Count: 1}))
		c.happen(4)
		turn, read = c.take("a")
		require.Zero(t, c.settles(turn, events.Outcome{Reason: "unavailable"}))
		turn, again := c.take("b")
		require.Equal(t, read, again)
		require.Equal(t, 1, turn.Attempts)
		require.False(t, turn.Failing.IsZero())
		require.Equal(t, 3, c.settles(turn, events.Outcome{Reason: "gone", Last: read[2].ID, Count: 3}))
		p := c.progress()
		require.Equal(t, turn.Failing, p.Failing, "since the first failure")
		require.Equal(t, "gone", p.Reason)
		require.Equal(t, [4]int{1, 3, 0, 2}, [4]int{p.Waiting, p.Dead, p.Lost, p.Attempts})
		require.False(t, p.FailedAt.IsZero())

		dead, err := c.DeadEvents(t.Context(), "acme", "", 2)
		require.NoError(t, err)
		require.Len(t, dead, 2)
		require.Equal(t, "gone", dead[0].Why)
		require.False(t, dead[0].Ended.IsZero())
		was := dead[0].Event
		was.ID = read[0].ID
		require.Equal(t, read[0], was)
		rest, err := c.DeadEvents(t.Context(), "acme", dead[1].ID, 2)
		require.NoError(t, err)
		require.Len(t, rest, 1)

		turn, read = c.take("c")
		require.Len(t, read, 1)
		c.settles(turn, events.Outcome{Last: read[0].ID, Count: 1})
		retried, left, err := c.RetryDead(t.Context(), "acme", dead[1].ID, 1)
		require.NoError(t, err)
		require.Equal(t, [2]int{1, 2}, [2]int{retried, left})
		retried, left, err = c.RetryDead(t.Context(), "acme", "", 1)
		require.NoError(t, err)
		require.Equal(t, [2]int{1, 1}, [2]int{retried, left})
		turn, read = c.take("d")
		require.Equal(t, 2, turn.Waiting)
		require.Zero(t, turn.Lost)
		require.Equal(t, [2]string{"m-3", "m-2"}, [2]string{read[0].MessageID, read[1].MessageID})
		read[0].ID = dead[1].ID
		require.Equal(t, dead[1].Event, read[0], "as it was")

		purged, err := c.PurgeDead(t.Context(), "acme", dead[1].ID)
		require.NoError(t, err)
		require.Zero(t, purged, "it was retried")
		purged, err = c.PurgeDead(t.Context(), "acme", rest[0].ID)
		require.NoError(t, err)
		require.Equal(t, 1, purged)
		c.settles(turn, events.Outcome{Reason: "gone", Last: read[1].ID, Count: 2})
		purged, err = c.PurgeDead(t.Context(), "acme", "")
		require.NoError(t, err)
		require.Equal(t, 2, purged)
	})
}

// What is removed before it was posted is counted, and only that, and once.
func TestEventsThatAreLost(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		c := newCallback(t, client)
		c.happen(3)
		require.NoError(t, c.Begin(t.Context(), "acme", true))
		require.NoError(t, client.XTrimMaxLen(t.Context(), "sl:{e:acme}:events", 2).Err())
		turn, read := c.take("a")
		require.Equal(t, [2]int{2, 1}, [2]int{turn.Waiting, turn.Lost})
		c.settles(turn, events.Outcome{Last: read[1].ID, Count: 2})
		require.NoError(t, client.XTrimMaxLen(t.Context(), "sl:{e:acme}:events", 0).Err())
		c.happen(5)
		require.NoError(t, client.XTrimMaxLen(t.Context(), "sl:{e:acme}:events", 5).Err())
		turn, _ = c.take("b")
		require.Equal(t, [2]int{5, 0}, [2]int{turn.Waiting, turn.Lost}, "what was posted is not lost")
		c.settles(turn, events.Outcome{Reason: "unavailable"})
		require.NoError(t, client.XTrimMaxLen(t.Context(), "sl:{e:acme}:events", 1).Err())
		turn, read = c.take("c")
		require.Equal(t, [2]int{1, 4}, [2]int{turn.Waiting, turn.Lost})
		c.settles(turn, events.Outcome{Reason: "unavailable"})
		turn, _ = c.take("d")
		require.Equal(t, [2]int{1, 0}, [2]int{turn.Waiting, turn.Lost}, "it was said")
		c.settles(turn, events.Outcome{Last: read[0].ID, Count: 1})
		require.Equal(t, 5, c.progress().Lost)

		require.NoError(t, client.Del(t.Context(), "sl:{e:acme}:events", "sl:{e:acme}:gathered").Err()) // they expired
		time.Sleep(5 * time.Millisecond)                                                                // which takes longer: ids are times, and a new stream begins in a later millisecond
		c.happen(2)
		turn, _ = c.take("e")
		require.Equal(t, [2]int{2, 0}, [2]int{turn.Waiting, turn.Lost})
	})
}

func TestCallbacksCheckWhatTheyGet(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, client redis.UniversalClient) {
		t.Helper()
		c := newCallback(t, client)
		_, _, _, take := c.Take(t.Context(), "*", "a", time.Minute)
		_, _, settle := c.Settle(t.Context(), events.Turn{Account: "A"}, events.Outcome{})
		_, progress := c.Progress(t.Context(), "")
		_, after := c.DeadEvents(t.Context(), "acme", "x", 1)
		_, number := c.DeadEvents(t.Context(), "acme", "", 1001)
		_, _, retry := c.RetryDead(t.Context(), "acme", "x", 1)
		_, purge := c.PurgeDead(t.Context(), "acme", "1-x")
		for i, err := range []error{
			take, settle, progress, after, number, retry, purge, c.Begin(t.Context(), "*", true), c.Forget(t.Context(), "*"),
		} {
			var wrong *fault.InvalidError
			require.ErrorAs(t, err, &wrong, "%d", i)
		}
	})
}

// An account without an event yet has no count of them. That hides no error of the others.
func TestProgressThatCanNotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	c := newCallback(t, client)
	_, err := c.Progress(t.Context(), "acme")
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), keyspace.KeysUnder("sl").AccountDeadEvents("acme"), "no stream", 0).Err())
	_, err = c.Progress(t.Context(), "acme")
	require.Error(t, err)
}
