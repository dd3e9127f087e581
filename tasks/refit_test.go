package tasks_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/turn"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// refitter opens what finds misfits in the story's store.
func (s *story) refitter() *refit.Refitter {
	s.Helper()
	r, err := refit.New(taskstest.Open(s, s.newClient(), s.shared), refit.Options{})
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, r.Close()) })
	return r
}

// noted are misfits in short, as a watcher is told of them.
type noted []string

func (n *noted) watcher() refit.Watcher {
	return refit.Watcher{Misfit: func(m message.Misfit) error {
		*n = append(*n, fmt.Sprintf("%s %s %s", m.ID, m.Breaks, m.Outcome))
		return nil
	}}
}

// policyOf is the story's policy under other rules.
func (s *story) policyOf(rules ...string) policy.Policy {
	s.Helper()
	p, err := policy.Parse(policy.DefaultName, "", rules...)
	require.NoError(s, err)
	return p
}

// stored is the default policy as the store has it.
func (s *story) stored() policy.Policy {
	s.Helper()
	policies := settings.NewPolicies(s.client, keyspace.KeysUnder(""))
	p, _, err := policies.Load(s.Context(), policy.DefaultName)
	require.NoError(s, err)
	return p
}

// run does with misfits what the action says.
func (s *story) run(action message.RefitAction) (message.RefitSummary, noted) {
	s.Helper()
	var found noted
	summary, err := s.refitter().Run(s.Context(), s.stored(), action, found.watcher())
	require.NoError(s, err)
	return summary, found
}

func TestPreviewChangesNothing(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour), s.message("c", 26*time.Hour))
		time.Sleep(time.Second) // for what is noted once the queue has them
		before := s.server.Dump()
		var found noted
		summary, err := s.refitter().DryRun(s.Context(), s.policyOf("1/calendar_day"), found.watcher())
		require.NoError(s, err)
		require.Equal(s, noted{"b 1/calendar_day misfit"}, found)
		require.Equal(s, message.RefitSummary{
			Outcome: message.DryRun, Policy: "default", RefitTotals: message.RefitTotals{
				Users: 1, Reservations: 3, MisfitUsers: 1, Misfits: 1, MisfitsByRule: map[string]int{"1/calendar_day": 1},
			},
			Baseline: &message.RefitBaseline{Version: 1, MisfitsByRule: map[string]int{}},
			Next:     keyspace.Partitions,
		}, summary)
		require.Equal(s, before, s.server.Dump())
		s.accepted(s.message("d", 3*time.Hour))
	})
}

func TestWhatWasAcceptedIsSentUnderTheOldPromise(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		s.apply("1/calendar_day")
		_, found := s.run(message.RefitKeep)
		require.Empty(s, found)
		s.workWhereDue(3 * time.Hour)
		s.delivered("a +1h0m0s", "b +2h0m0s")
	})
}

func TestRefitShifts(t *testing.T) {
	tell(t, func(s *story) {
		soon := s.message("soon", 4*time.Hour)
		soon.ExpiresAt = s.at(6 * time.Hour)
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour), s.message("c", 3*time.Hour), soon)
		s.apply("1/calendar_day")
		summary, found := s.run(message.RefitShift)
		require.Equal(s, noted{
			"b 1/calendar_day moved",
			"c 1/calendar_day moved", // to the day after, the next being taken by now
			"soon 1/calendar_day kept",
		}, found)
		require.Equal(s, []int{2, 1, 0, 0}, []int{summary.Moved, summary.Kept, summary.Gone, summary.Cancelled})
		require.Equal(s, s.at(24*time.Hour), s.status("b").SendAt.Time)
		require.Equal(s, s.at(48*time.Hour), s.status("c").SendAt.Time)
		s.workWhereDue(25 * time.Hour)
		s.delivered("a +1h0m0s", "soon +4h0m0s", "b +24h0m0s")
	})
}

func TestRefitPassesOverAFullDay(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour), s.message("c", 10*time.Hour))
		s.shared.PlacesPerDay = 2
		s.apply("1/2h")
		_, found := s.run(message.RefitShift)
		require.Equal(s, noted{"b 1/2h moved"}, found)
		require.Equal(s, s.at(24*time.Hour), s.status("b").SendAt.Time)
	})
}

func TestRefitCancels(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour), s.message("c", 3*time.Hour))
		s.apply("2/calendar_day")
		summary, found := s.run(message.RefitCancel)
		require.Equal(s, noted{"c 2/calendar_day cancelled"}, found)
		require.Equal(s, 1, summary.Cancelled)
		summary, found = s.run(message.RefitCancel)
		require.Empty(s, found, "what is left fits")
		require.Zero(s, summary.Misfits)
		s.workWhereDue(4 * time.Hour)
		s.delivered("a +1h0m0s", "b +2h0m0s")
	})
}

// What an account was charged for a day goes with its message, and where its quota
// of the next day is used up the message goes to the day after.
func TestRefitOfChargedMessages(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 5, MessagesPerDay: 4}, "")
		users := map[string][]string{}
		for _, user := range []string{"ann", "bob"} {
			for k := range 2 {
				m := s.message(fmt.Sprintf("%s-%d", user, k), time.Duration(k+2)*time.Hour)
				m.User, m.Account = user, "acme"
				s.accepted(m)
				users[user] = append(users[user], m.ID)
			}
		}
		for k := range 3 { // one message is left for the next day
			m := s.message(fmt.Sprintf("next-%d", k), 30*time.Hour+time.Duration(k)*time.Hour)
			m.User, m.Account = fmt.Sprintf("carl%d", k), "acme"
			s.accepted(m)
			users[m.User] = []string{m.ID}
		}
		s.apply("1/calendar_day")
		summary, found := s.run(message.RefitShift)
		require.Len(s, found, 2)
		require.Equal(s, []int{2, 0}, []int{summary.Moved, summary.Kept})
		var moved []time.Time
		for _, user := range []string{"ann", "bob"} {
			status, _, err := s.Status(s.Context(), user, user+"-1")
			require.NoError(s, err)
			moved = append(moved, status.SendAt.Time)
		}
		require.ElementsMatch(s, []time.Time{s.at(24 * time.Hour), s.at(48 * time.Hour)}, moved)
		s.requireCharges(nil, users)
		_, found = s.run(message.RefitCancel)
		require.Empty(s, found)
	})
}

// A run that its operator stopped, or that was killed, is gone on with, and what
// others do meanwhile is left to them.
func TestRefitGoesOnWhereItStopped(t *testing.T) {
	tell(t, func(s *story) {
		for i := range 20 {
			for k := range 2 {
				m := s.message(fmt.Sprintf("m%d", k), time.Duration(k+1)*time.Hour)
				m.User = fmt.Sprintf("user%d", i)
				s.accepted(m)
			}
		}
		s.apply("1/calendar_day")
		enough := errors.New("enough")
		var found noted
		watcher := found.watcher()
		note := watcher.Misfit
		watcher.Misfit = func(m message.Misfit) error {
			if len(found) == 7 {
				return enough
			}
			return note(m)
		}
		stopped, err := s.refitter().Run(s.Context(), s.stored(), message.RefitShift, watcher)
		require.ErrorIs(s, err, enough)
		require.Equal(s, 8, stopped.Moved)
		require.Less(s, stopped.Next, keyspace.Partitions)
		require.Positive(s, stopped.Next)

		rest, err := s.refitter().Run(s.Context(), s.stored(), message.RefitShift, found.watcher())
		require.NoError(s, err)
		require.Equal(s, stopped.Next, rest.First)
		require.Equal(s, []int{20, 20, 20}, []int{rest.Moved, rest.Misfits, rest.MisfitUsers}, "it counts both runs")
		require.Equal(s, []int{20, 40}, []int{rest.Users, rest.Reservations})
		require.Equal(s, map[string]int{"1/calendar_day": 20}, rest.MisfitsByRule)
		require.Equal(s, keyspace.Partitions, rest.Next)
		require.Zero(s, s.client.Exists(s.Context(), s.keys().Turn(keyspace.RefitWork("default"))).Val(), "nothing is left to go on with")

		again, found := s.run(message.RefitShift)
		require.Zero(s, again.First, "a run that has ended begins anew")
		require.Empty(s, found)
	})
}

// However often a run is stopped, the last one counts what all of them did: as one run does
// that nobody stops.
func TestARefitInPiecesCountsAllOfThem(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, every := range []int{1, 2, 5} {
		t.Run(strconv.Itoa(every), func(t *testing.T) {
			tell(t, func(s *story) {
				const users = 12
				misfits := 0
				for i := range users {
					misfits += i % 4
					for k := range 1 + i%4 {
						m := s.message(fmt.Sprintf("m%d", k), time.Duration(k+1)*time.Hour)
						m.User = fmt.Sprintf("user%d", i)
						s.accepted(m)
					}
				}
				s.apply("1/calendar_day")
				enough := errors.New("enough")
				for runs := 1; ; runs++ {
					seen := 0
					summary, err := s.refitter().Run(s.Context(), s.stored(), message.RefitShift, refit.Watcher{Misfit: func(message.Misfit) error {
						if seen++; seen == every {
							return enough
						}
						return nil
					}})
					if err != nil {
						require.ErrorIs(s, err, enough)
						require.LessOrEqual(s, runs, misfits)
						continue
					}
					require.Greater(s, runs, 1)
					require.Equal(s, []int{misfits, misfits, 9, users}, []int{summary.Moved, summary.Misfits, summary.MisfitUsers, summary.Users}, "stopped every %d", every)
					require.Equal(s, users+misfits, summary.Reservations)
					require.Equal(s, map[string]int{"1/calendar_day": misfits}, summary.MisfitsByRule)
					break
				}
			})
		})
	}
}

// The error of a run that was told to stop says so, whatever the cause was, so that
// a program can end as one that was told to.
func TestRefitEndsWithItsContext(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		s.apply("1/calendar_day")
		ctx, stop := context.WithCancelCause(s.Context())
		watcher := refit.Watcher{Misfit: func(message.Misfit) error {
			time.Sleep(100 * time.Millisecond) // which it rests for as well, and is stopped in
			stop(errors.New("a signal"))
			return nil
		}}
		_, err := s.refitter().Run(ctx, s.stored(), message.RefitShift, watcher)
		require.ErrorIs(s, err, context.Canceled)
	})
}

// Two operators at once: the second is told so. One whose program was killed is
// waited for, until its turn is over.
func TestRefitIsOneAtATime(t *testing.T) {
	tell(t, func(s *story) {
		for i := range 100 {
			m := s.message("m", time.Hour)
			m.User = fmt.Sprintf("user%d", i)
			s.accepted(m)
		}
		s.apply("1/calendar_day")
		// Its turn is kept while it goes on.
		var second error
		slow, err := refit.New(taskstest.Open(s, s.client, s.shared), refit.Options{
			Rest: func(ctx context.Context, _ time.Duration) error {
				time.Sleep(300 * time.Millisecond)
				return ctx.Err()
			},
		})
		require.NoError(s, err)
		defer slow.Close()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			time.Sleep(20 * time.Second)
			_, second = s.refitter().Run(s.Context(), s.stored(), message.RefitCancel, refit.Watcher{})
		}()
		_, err = slow.Run(s.Context(), s.stored(), message.RefitShift, refit.Watcher{})
		require.NoError(s, err)
		<-ended
		var runs *refit.RunningError
		require.ErrorAs(s, second, &runs)
		require.Equal(s, "default", runs.Policy)
		require.Equal(s, fault.CodeRefitRunning, runs.Code())

		// Nobody keeps the turn of one that was killed.
		work := fmt.Sprintf("%d %s", s.stored().Version, message.RefitShift)
		killed := turn.NewJob(s.client, s.keys().Turn(keyspace.RefitWork("default")), work)
		_, taken, _, err := killed.Take(s.Context(), 10*time.Second)
		require.NoError(s, err)
		require.True(s, taken)
		began := time.Now()
		kept, err := killed.Keep(s.Context(), `{"next_partition":900}`, 10*time.Second)
		require.NoError(s, err)
		require.True(s, kept)
		summary, _ := s.run(message.RefitShift)
		require.Equal(s, 900, summary.First)
		require.GreaterOrEqual(s, time.Since(began), 9*time.Second)
		kept, err = killed.Keep(s.Context(), `{"next_partition":901}`, 10*time.Second)
		require.NoError(s, err)
		require.False(s, kept, "somebody else has taken over")
	})
}

// Another policy is applied while a run goes on.
func TestRefitOfAPolicyThatIsReplaced(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		s.apply("1/calendar_day")
		_, err := s.refitter().Run(s.Context(), s.stored(), message.RefitShift, refit.Watcher{
			Progress: func(done int) {
				if done == 3 {
					s.apply("2/calendar_day")
				}
			},
		})
		var replaced *refit.PolicyReplacedError
		require.ErrorAs(s, err, &replaced)
		require.Equal(s, s.at(2*time.Hour), s.status("b").SendAt.Time)
		_, found := s.run(message.RefitShift)
		require.Empty(s, found, "it fits the new one")
	})
}

// An operator takes a policy back while one user's misfits are cancelled.
func TestRefitStopsWhereItsPolicyIsTakenBack(t *testing.T) {
	tell(t, func(s *story) {
		for i := range 5 {
			s.accepted(s.message(fmt.Sprintf("m%d", i), time.Duration(i+1)*time.Hour))
		}
		s.apply("1/calendar_day")
		var found noted
		watcher := found.watcher()
		note := watcher.Misfit
		watcher.Misfit = func(m message.Misfit) error {
			if len(found) == 0 {
				s.apply("10/calendar_day")
				time.Sleep(2 * time.Second)
			}
			return note(m)
		}
		summary, err := s.refitter().Run(s.Context(), s.stored(), message.RefitCancel, watcher)
		var replaced *refit.PolicyReplacedError
		require.ErrorAs(s, err, &replaced)
		require.Equal(s, noted{"m1 1/calendar_day cancelled"}, found)
		require.Equal(s, 1, summary.Cancelled)

		// It is found out also where nothing is left to be done.
		s.apply("1/calendar_day")
		watcher.Misfit = func(m message.Misfit) error {
			if m.ID == "m4" {
				s.apply("10/calendar_day")
			}
			return nil
		}
		_, err = s.refitter().Run(s.Context(), s.stored(), message.RefitCancel, watcher)
		require.ErrorAs(s, err, &replaced)
	})
}

// What its owner moves, cancels or has sent between being found and being
// touched is left alone.
func TestRefitLeavesWhatOthersChangeMeanwhile(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour), s.message("c", 3*time.Hour), s.message("d", 4*time.Hour))
		s.apply("1/calendar_day")
		// Between the list of misfits and the first change.
		race := &beforeScript{name: "place/next_free", do: func() {
			for _, id := range []string{"b", "c"} {
				o, err := s.Cancel(s.Context(), "alice", id)
				require.NoError(s, err)
				require.Equal(s, message.Cancelled, o.Outcome)
			}
			o, err := s.Move(s.Context(), "alice", "d", s.at(50*time.Hour))
			require.NoError(s, err)
			require.Equal(s, message.Moved, o.Outcome)
		}}
		s.hook = redistest.Commands(race.onCommand)
		summary, found := s.run(message.RefitShift)
		require.Equal(s, noted{"b 1/calendar_day gone", "c 1/calendar_day gone", "d 1/calendar_day gone"}, found)
		require.Equal(s, 3, summary.Gone)
		require.Equal(s, s.at(50*time.Hour), s.status("d").SendAt.Time)
	})
}

// beforeScript does something before the first call of a script.
type beforeScript struct {
	name string
	do   func()
	done bool
}

func (b *beforeScript) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if len(cmd.Args()) > 1 && cmd.Name() == "evalsha" && lua.NamesByHash()[fmt.Sprint(cmd.Args()[1])] == b.name && !b.done {
		b.done = true
		b.do()
	}
	return next(ctx, cmd)
}

func TestRefitRefuses(t *testing.T) {
	tell(t, func(s *story) {
		r := s.refitter()
		for _, c := range []struct{ policy, action, field string }{
			{"nobody-has-it", "shift", "policy"},
			{"default", "drop", "then"},
		} {
			p := s.stored()
			p.Name = c.policy
			_, err := r.Run(s.Context(), p, message.RefitAction(c.action), refit.Watcher{})
			var wrong *fault.InvalidError
			require.ErrorAs(s, err, &wrong)
			require.Equal(s, c.field, wrong.Field)
		}
		// What was replaced by the time it begins is not gone through in its place.
		old := s.stored()
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		s.apply("1/calendar_day")
		for _, action := range []message.RefitAction{message.RefitCancel, message.RefitKeep} {
			_, err := r.Run(s.Context(), old, action, refit.Watcher{})
			var replaced *refit.PolicyReplacedError
			require.ErrorAs(s, err, &replaced)
			require.Equal(s, fault.CodeVersionMismatch, replaced.Code())
		}
		_, err := r.DryRun(s.Context(), policy.Policy{}, refit.Watcher{})
		var wrong *fault.InvalidError
		require.ErrorAs(s, err, &wrong)
	})
}

// What was in a misfit's way goes away between being found and being touched: it
// stays where it is, and has no other task.
func TestRefitKeepsWhatFitsAgain(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		s.apply("1/calendar_day")
		queued, generation := 0, s.record("alice", "b")["g"]
		before := &beforeScript{name: "place/next_free", do: func() {
			s.cancelled("a")
			queued = s.queued()
		}}
		s.hook = redistest.Commands(before.onCommand)
		summary, found := s.run(message.RefitShift)
		require.Equal(s, noted{"b 1/calendar_day kept"}, found)
		require.Equal(s, 1, summary.Kept)
		require.Equal(s, queued, s.queued())
		require.Equal(s, generation, s.record("alice", "b")["g"])
	})
}

// A refit that shifts goes to times that the throttle of a message's category has left.
func TestRefitKeepsThrottles(t *testing.T) {
	tell(t, func(s *story) {
		s.throttle("1/minute", "1/minute")
		at := func(minutes int) time.Duration { return time.Hour + time.Duration(minutes)*time.Minute }
		for i, m := range []message.Message{s.ad("a", at(0)), s.ad("b", at(1)), s.ad("c", at(5)), s.ad("d", at(6)), s.ad("e", at(8))} {
			if i < 2 {
				m.User = "alice"
			}
			s.accepted(m)
		}
		s.throttle("1/minute", "1/5m")
		summary, found := s.run(message.RefitShift)
		require.Equal(s, noted{"b 1/5m moved"}, found)
		require.Equal(s, 1, summary.Moved)
		status, _, err := s.Status(s.Context(), "alice", "b")
		require.NoError(s, err)
		require.Equal(s, s.at(at(7)), status.SendAt.Time, "01:05 and 01:06 are full")
		s.requireThrottled(map[string]int{"01:00": 1, "01:05": 1, "01:06": 1, "01:07": 1, "01:08": 1})
	})
}
