package tasks_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// filling has the store say how full it is, and counts how often it is asked.
type filling struct {
	asked atomic.Int32
	takes time.Duration // before it answers

	mu     sync.Mutex
	answer string
}

func (s *story) filling() *filling {
	f := &filling{}
	f.percent(0)
	s.server.Server().SetPreHook(func(peer *server.Peer, command string, args ...string) bool {
		if command != "INFO" || slices.Contains(args, "persistence") {
			return false
		}
		f.asked.Add(1)
		time.Sleep(f.takes)
		f.mu.Lock()
		defer f.mu.Unlock()
		if text, failed := strings.CutPrefix(f.answer, "-"); failed {
			peer.WriteError(text)
		} else {
			peer.WriteBulk(f.answer)
		}
		return true
	})
	return f
}

func (f *filling) says(answer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// percent says so many percent of 10 MB.
func (f *filling) percent(n int) {
	f.says(fmt.Sprintf("used_memory:%d\r\nmaxmemory:%d\r\n", n*10<<20/100, 10<<20))
}

// full requires the error of a store that is too full.
func (s *story) full(err error) {
	s.Helper()
	s.away(err, fault.CodeStoreFull)
}

// Nothing more is accepted by a store that is quite full, and all that makes
// room goes on.
func TestAFullStoreAcceptsNothingAndDelivers(t *testing.T) {
	tell(t, func(s *story) {
		f := s.filling()
		f.percent(84)
		s.work()
		s.accepted(s.message("a", 10*time.Second), s.message("b", time.Hour), s.message("c", 2*time.Hour))
		f.percent(85)
		s.until(2 * time.Second)

		_, err := s.Submit(s.Context(), s.message("d", 3*time.Hour))
		s.full(err)
		var away *fault.UnavailableError
		require.ErrorAs(s, err, &away)
		require.Equal(s, "Redis at "+s.client.Options().Addr+" is 85 % full (8.5 of 10.0 MB), and takes no more messages from 85 % on"+
			" (store_full_at), so that those it has can be delivered: raise its maxmemory,"+
			" or wait until messages are delivered and their records expire", away.Detail)
		_, err = s.Check(s.Context(), s.message("d", 3*time.Hour))
		s.full(err)
		dryRun, err := s.StartDryRun(s.Context())
		require.NoError(s, err)
		_, err = dryRun.Submit(s.Context(), s.message("d", 3*time.Hour))
		s.full(err)
		require.NoError(s, dryRun.Close(s.Context()))
		s.full(s.StoreFull(s.Context(), 1))

		// What takes no room is answered.
		require.True(s, s.submit(s.message("b", time.Hour)).Replayed)
		require.Equal(s, fault.CodeIDReused, s.submit(s.message("b", 3*time.Hour)).Code)
		require.Equal(s, fault.CodeSendLimit, s.submit(s.message("d", time.Hour)).Code)
		require.Equal(s, message.Invalid, s.submit(message.Message{User: "alice"}).Outcome)
		s.moved("b", time.Hour)
		s.cancelled("c")
		s.until(20 * time.Second)
		s.delivered("a +10s")

		f.percent(84)
		s.until(22 * time.Second)
		require.NoError(s, s.StoreFull(s.Context(), 1))
		s.accepted(s.message("d", 3*time.Hour))
	})
}

// A move needs another task, sooner or later, and so a full store takes none. What changes
// nothing, or would be refused anyway, is answered as always.
func TestStoreFullMoves(t *testing.T) {
	tell(t, func(s *story) {
		s.account(accounts.Account{Name: "acme"})
		paid := s.message("c", 3*time.Hour)
		paid.Account = "acme"
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour), paid, s.message("d", time.Hour+time.Minute))
		s.filling().percent(85)
		s.until(2 * time.Second)
		before := s.server.Dump()
		for id, at := range map[string]time.Duration{"a": 4 * time.Hour, "b": time.Minute, "c": 4 * time.Hour} {
			_, err := s.Move(s.Context(), "alice", id, s.at(at))
			s.full(err)
		}
		_, err := s.Move(s.Context(), "alice", "a", time.Time{})
		s.full(err)
		_, err = s.MoveTo(s.Context(), "alice", "a", message.Move{At: s.at(2 * time.Hour), OnConflict: message.OnConflictShift})
		s.full(err)
		body, shift := "new", message.Move{At: s.at(time.Hour), OnConflict: message.OnConflictShift}
		_, err = s.Change(s.Context(), "alice", "d", message.Patch{Move: &shift, Edit: message.Edit{Body: &body}})
		s.full(err)
		require.Equal(s, s.at(time.Hour+time.Minute), s.edited("d", message.Patch{Move: &shift}).SendAt.Time, "where it is")
		s.moved("a", time.Hour)
		s.moved("c", 3*time.Hour)
		for _, row := range []struct {
			by   *submit.Submitter
			id   string
			at   time.Duration
			code fault.Code
		}{
			{s.Submitter, "a", 2 * time.Hour, fault.CodeSendLimit},
			{s.Submitter, "a", -time.Hour, fault.CodeInPast},
			{s.Submitter, "a", 400 * 24 * time.Hour, fault.CodeTooFarAhead},
			{s.Submitter, "nothing", time.Hour, fault.CodeNotFound},
			{s.For("other"), "c", 4 * time.Hour, fault.CodeNotFound},
			{s.For("acme"), "c", 2 * time.Hour, fault.CodeSendLimit},
		} {
			o, err := row.by.Move(s.Context(), "alice", row.id, s.at(row.at))
			require.NoError(s, err)
			require.Equal(s, row.code, o.Code)
		}
		require.Equal(s, before, s.server.Dump(), "nothing was written")
		_, err = s.For("acme").Move(s.Context(), "alice", "c", s.at(4*time.Hour))
		s.full(err)
		s.cancelled("a")
		s.cancelled("c")
	})
}

// A place that would be shifted to is a place too.
func TestStoreFullShifts(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour))
		s.filling().percent(99)
		s.until(2 * time.Second)
		m := s.message("b", time.Hour)
		m.OnConflict = message.OnConflictShift
		_, err := s.Submit(s.Context(), m)
		s.full(err)
	})
}

// However much is submitted, the store is asked every two seconds.
func TestStoreIsAskedSeldomHowFullItIs(t *testing.T) {
	tell(t, func(s *story) {
		f := s.filling()
		for second := range 10 {
			s.until(time.Duration(second) * time.Second)
			var all sync.WaitGroup
			for i := range 20 {
				all.Go(func() {
					m := s.message("a", time.Hour)
					m.User = fmt.Sprint(second, i%10)
					s.submit(m)
				})
			}
			all.Wait()
			if second == 0 { // nobody waits for another's first look
				require.LessOrEqual(s, f.asked.Load(), int32(20))
				f.asked.Store(0)
			}
		}
		require.EqualValues(s, 4, f.asked.Load(), "at 2, 4, 6 and 8 seconds")
	})
}

// Who submits fast asks more often, the nearer the store is to its limit: what
// comes between two looks is never more than the room there was.
func TestStoreIsAskedSoonerByWhoSubmitsFast(t *testing.T) {
	tell(t, func(s *story) {
		f := s.filling()
		f.percent(84) // 0.1 MB are left
		accepted := 0
		for i := range 1000 {
			m := s.message("a", time.Hour)
			m.User, m.Body = strconv.Itoa(i), strings.Repeat("x", 4000)
			_, err := s.Submit(s.Context(), m)
			if i == 20 {
				f.percent(85)
			}
			if err != nil {
				s.full(err)
				break
			}
			accepted++
		}
		require.InDelta(s, 24, accepted, 4, "of at most 6 kB each")
		require.Less(s, time.Since(s.began), time.Second)
		asked := f.asked.Load()
		for range 100 {
			_, err := s.Submit(s.Context(), s.message("a", time.Hour))
			s.full(err)
		}
		require.Equal(s, asked, f.asked.Load(), "a full store is not asked at every submit")
	})
}

// A store that does not say how full it is has no limit, and one that stops
// saying is as full as it was.
func TestStoreThatDoesNotSayHowFullItIs(t *testing.T) {
	tell(t, func(s *story) {
		f := s.filling()
		at := time.Duration(0)
		next := func() (message.Outcome, error) {
			at += 2 * time.Second
			s.until(at)
			return s.Submit(s.Context(), s.message(fmt.Sprint(at), time.Hour+30*at))
		}
		for _, answer := range []string{
			"-NOPERM this user has no permissions to run the 'info' command",
			"-ERR section (memory) is not supported",
			"used_memory:1000\r\nmaxmemory:0\r\n",
			"# Memory\r\n",
		} {
			f.says(answer)
			o, err := next()
			require.NoError(s, err, answer)
			require.Equal(s, message.Accepted, o.Outcome, answer)
		}
		f.percent(90)
		_, err := next()
		s.full(err)
		f.says("-LOADING Redis is loading the dataset in memory")
		_, err = next()
		s.full(err)
		f.percent(80)
		o, err := next()
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome)
	}, "100/minute")
}

// A store that hangs when it is asked holds up nobody for long.
func TestStoreThatHangsWhenAskedHowFullItIs(t *testing.T) {
	tell(t, func(s *story) {
		s.server.Server().SetPreHook(func(_ *server.Peer, command string, _ ...string) bool {
			if command == "INFO" {
				time.Sleep(2 * time.Second)
			}
			return false
		})
		s.accepted(s.message("a", time.Hour))
		require.Equal(s, 500*time.Millisecond, time.Since(s.began))
		s.accepted(s.message("b", 2*time.Hour))
		require.Equal(s, 500*time.Millisecond, time.Since(s.began), "once in two seconds")
	})
}

func TestStoreFullAtIsASetting(t *testing.T) {
	tell(t, func(s *story) {
		f := s.filling()
		f.percent(99)
		brim := s.newSubmitter(submit.Options{StoreFullAt: 100, Batch: true})
		_, err := brim.Submit(s.Context(), s.message("a", time.Hour))
		require.NoError(s, err)
		f.percent(50)
		_, err = s.newSubmitter(submit.Options{StoreFullAt: 50}).Submit(s.Context(), s.message("b", 2*time.Hour))
		s.full(err)
		for _, percent := range []int{-1, 49, 101} {
			_, err := submit.New(taskstest.Open(s, s.client, s.shared), submit.Options{StoreFullAt: percent})
			refuses(s.T, err, fmt.Sprintf(`store_full_at "%d%%" is not allowed: use 50%% to 100%%`, percent))
		}
	})
}
