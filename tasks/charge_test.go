package tasks_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// charges makes an account with a tier of its own.
func (s *story) charges(name string, tier accounts.Tier, zone string) {
	s.Helper()
	directory := accounts.New(s.client, keyspace.KeysUnder(""))
	tier.Name = name
	require.NoError(s, directory.SetTier(s.Context(), tier))
	_, err := directory.Create(s.Context(), accounts.Account{Name: name, Tier: name, TimeZone: zone})
	require.NoError(s, err)
}

// paid is a message of account acme to a user of its own.
func (s *story) paid(id string, after time.Duration) message.Message {
	m := s.message(id, after)
	m.User, m.Account = "user-"+id, "acme"
	return m
}

// requireCharges requires that charges are what the messages of these users are.
func (s *story) requireCharges(zones map[string]*time.Location, sent map[string][]string) {
	s.Helper()
	time.Sleep(10 * time.Millisecond) // what is settled in the background
	synctest.Wait()
	model := sendlimittest.NewChargeModel(zones)
	records := messages.NewRecords(s.client, keyspace.KeysUnder(""))
	for user, ids := range sent {
		standings, err := records.Look(s.Context(), user, ids...)
		require.NoError(s, err)
		for _, standing := range standings {
			model.Update(standing)
		}
	}
	sendlimittest.RequireCharged(s, s.client, "", model)
}

func TestAQuotaRefusesInTheWordsOfItsAccount(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 1, MessagesPerDay: 2}, "Europe/Berlin")
		s.accepted(s.paid("1", 2*time.Hour))
		o := s.submit(s.paid("2", 2*time.Hour+30*time.Minute))
		require.Equal(t, message.Refused, o.Outcome)
		require.Equal(t, fault.CodeQuotaExceeded, o.Code)
		require.Equal(t, "account acme has no messages left for the hour from 2000-01-01 03:00: its quota is 1 per hour; "+
			"the next begins at 2000-01-01 04:00 Europe/Berlin", o.Detail)
		require.Equal(t, s.at(3*time.Hour), o.ResetsAt.Time)
		require.Zero(t, o.RetryAfterSeconds)
		s.accepted(s.paid("3", 3*time.Hour))
		o = s.submit(s.paid("4", 4*time.Hour))
		require.Equal(t, "account acme has no messages left for the day 2000-01-01: its quota is 2 per day; "+
			"the next begins at 2000-01-02 00:00 Europe/Berlin", o.Detail)
		require.Equal(t, int64(23*3600), o.RetryAfterSeconds, "it is today, in Berlin since an hour")
		require.Equal(t, s.at(23*time.Hour), o.ResetsAt.Time)
		s.accepted(s.paid("5", 23*time.Hour))
		s.accepted(s.message("free", 4*time.Hour))
		s.requireCharges(map[string]*time.Location{"acme": berlin(t)},
			map[string][]string{"user-1": {"1"}, "user-3": {"3"}, "user-5": {"5"}, "alice": {"free"}})
	})
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := calendar.ParseTimeZone("Europe/Berlin")
	require.NoError(t, err)
	return zone
}

func TestAnAccountHasToExistAndNotBeDisabled(t *testing.T) {
	tell(t, func(s *story) {
		o := s.submit(s.paid("1", time.Hour))
		require.Equal(t, message.Invalid, o.Outcome)
		require.Equal(t, "account", o.Field)
		require.Equal(t, `there is no account "acme"`, o.Detail)
		s.charges("acme", accounts.Tier{}, "")
		s.accepted(s.paid("1", time.Hour))
		directory := accounts.New(s.client, keyspace.KeysUnder(""))
		disabled := true
		_, err := directory.Set(s.Context(), "acme", accounts.Change{Disabled: &disabled})
		require.NoError(t, err)
		time.Sleep(time.Second)
		o = s.submit(s.paid("2", time.Hour))
		require.Equal(t, `account "acme" is disabled`, o.Detail)
		o, err = s.Cancel(s.Context(), "user-1", "1")
		require.NoError(t, err)
		require.Equal(t, message.Cancelled, o.Outcome, "the operator can")
		s.requireCharges(nil, nil)
	})
}

func TestAReplayIsAnsweredThoughTheQuotaIsUsedUp(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerDay: 1}, "")
		first := s.paid("1", time.Hour)
		s.accepted(first)
		again := s.submit(first)
		require.True(t, again.Replayed)
		require.Equal(t, message.Accepted, again.Outcome)
		other := first
		other.Title = "other"
		require.Equal(t, fault.CodeIDReused, s.submit(other).Code)
		other = first
		other.Account = ""
		require.Equal(t, fault.CodeIDReused, s.submit(other).Code, "another's message")
		require.Equal(t, fault.CodeInPast, s.submit(s.paid("2", -time.Hour)).Code)
		require.Equal(t, fault.CodeTooFarAhead, s.submit(s.paid("2", 400*24*time.Hour)).Code)
		require.Equal(t, fault.CodeQuotaExceeded, s.submit(s.paid("2", time.Hour)).Code)
		s.requireCharges(nil, map[string][]string{"user-1": {"1"}})
	})
}

func TestNowIsChargedInThePresentHour(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 1, MessagesPerDay: 5}, "")
		s.until(time.Hour - time.Millisecond)
		m := s.paid("1", 0)
		m.Now, m.SendAt = true, time.Time{}
		require.Equal(t, message.Accepted, s.submit(m).Outcome)
		m.ID, m.User, m.OnConflict = "2", "user-2", message.OnConflictRefuse
		o := s.submit(m)
		require.Contains(t, []string{message.Accepted, message.Refused}, o.Outcome)
		s.until(time.Hour + time.Second)
		graced := s.paid("3", time.Hour-time.Second)
		o = s.submit(graced)
		require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
		require.False(t, o.SendAt.Before(s.at(time.Hour)), "a time within the grace is now")
		s.requireCharges(nil, map[string][]string{"user-1": {"1"}, "user-2": {"2"}, "user-3": {"3"}})
	})
}

func TestAnAccountSeesItsOwnMessagesOnly(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{}, "")
		s.charges("beta", accounts.Tier{}, "")
		acme, beta := s.For("acme"), s.For("beta")
		for i, by := range []*submit.Submitter{acme, beta, s.Submitter, acme, beta} {
			o, err := by.Submit(s.Context(), s.message(strconv.Itoa(i), time.Duration(i+1)*time.Hour))
			require.NoError(t, err)
			require.Equal(t, message.Accepted, o.Outcome)
		}
		for _, id := range []string{"1", "2", "unknown"} {
			_, ok, err := acme.Status(s.Context(), "alice", id)
			require.NoError(t, err)
			require.False(t, ok, id)
			o, err := acme.Cancel(s.Context(), "alice", id)
			require.NoError(t, err)
			require.Equal(t, fault.CodeNotFound, o.Code, id)
			o, err = acme.Move(s.Context(), "alice", id, s.at(10*time.Hour))
			require.NoError(t, err)
			require.Equal(t, fault.CodeNotFound, o.Code, id)
		}
		for limit := range 4 {
			own, err := acme.List(s.Context(), sendlimit.ListRequest{User: "alice", Limit: limit})
			require.NoError(t, err)
			ids := []string{}
			for _, status := range own {
				ids = append(ids, status.ID)
			}
			require.Equal(t, []string{"0", "3"}[:min(2, orMany(limit))], ids)
		}
		o, err := acme.Cancel(s.Context(), "alice", "0")
		require.NoError(t, err)
		require.Equal(t, message.Cancelled, o.Outcome)
		o, err = beta.Move(s.Context(), "alice", "1", s.at(11*time.Hour))
		require.NoError(t, err)
		require.Equal(t, message.Moved, o.Outcome)
		s.requireCharges(nil, map[string][]string{"alice": {"0", "1", "2", "3", "4"}})
	})
}

// orMany is a limit of a list, where zero is the usual one.
func orMany(limit int) int {
	if limit == 0 {
		return sendlimit.MaxList
	}
	return limit
}

// Submits of one account that come at once share calls of the store. The quota holds for them
// together, whoever gives up meanwhile.
func TestConcurrentSubmitsOfAnAccountShareHolds(t *testing.T) {
	tell(t, func(s *story) {
		const submits, quota = 64, 20
		s.charges("acme", accounts.Tier{MessagesPerHour: quota}, "UTC")
		s.accepted(s.paid("first", time.Minute)) // which learns the account
		trips := countRoundTrips()
		s.hook = trips
		submitter := s.newSubmitterOn(taskstest.Open(s, s.newClient(), s.shared), submit.Options{})
		ids, sent := make(chan string, submits), map[string][]string{"user-first": {"first"}}
		var running sync.WaitGroup
		for i := range submits {
			running.Go(func() {
				ctx, cancel := context.WithCancel(s.Context())
				defer cancel()
				if i%5 == 4 { // before its call, or in the middle of it
					time.AfterFunc(time.Duration(i%4)*4*time.Millisecond, cancel)
				}
				id := "m" + strconv.Itoa(i)
				outcome, err := submitter.Submit(ctx, s.paid(id, time.Minute))
				if err == nil && outcome.Outcome == message.Accepted {
					ids <- id
				}
				if i%5 != 4 {
					require.NoError(s, err)
				}
			})
		}
		running.Wait()
		close(ids)
		for id := range ids {
			sent["user-"+id] = []string{id}
		}
		require.LessOrEqual(s, len(sent), quota)
		require.LessOrEqual(s, trips.trips["hold"], 3, "the first, and all that came meanwhile")
		require.Positive(s, trips.trips["hold"])
		s.work(relaying)
		s.until(2 * time.Minute) // what nobody knows the end of is looked after
		for i := range submits {
			id := "m" + strconv.Itoa(i)
			sent["user-"+id] = []string{id}
		}
		s.requireCharges(map[string]*time.Location{"acme": time.UTC}, sent)
		require.LessOrEqual(s, len(s.recorder.Deliveries()), quota)
	})
}

// delayHook has the first call of a script arrive late: its answer is that of the
// repetition which the client library makes after its timeout.
type delayHook struct {
	script  *lua.Script
	timeout time.Duration

	mu      sync.Mutex
	skip    int // calls before that arrive at once
	delayed []any
}

func (h *delayHook) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	h.mu.Lock()
	args := cmd.Args()
	ours := h.delayed == nil && len(args) > 1 && args[1] == h.script.Hash()
	if ours && h.skip > 0 {
		ours = false
		h.skip--
	}
	if ours {
		h.delayed = slices.Clone(args)
	}
	h.mu.Unlock()
	if ours {
		time.Sleep(h.timeout)
	}
	return next(ctx, cmd)
}

// A change whose command was repeated may be made by the first of the two when the
// second was refused: then it is charged all the same.
func TestADelayedChangeIsCharged(t *testing.T) {
	t.Parallel()
	settled := func(s *story) {
		charges, err := quota.New(s.client, quota.Options{})
		require.NoError(s, err)
		time.Sleep(time.Minute)
		due, err := charges.Due(s.Context(), time.Now(), 100)
		require.NoError(s, err)
		for _, hold := range due {
			_, _, err := charges.Resolve(s.Context(), hold, time.Time{})
			require.NoError(s, err)
		}
		s.requireCharges(nil, map[string][]string{"alice": {"first", "second"}})
	}
	// delayed is a submitter that a script of is delayed to, and what sends that on.
	delayed := func(s *story, script *lua.Script) (*submit.Submitter, func()) {
		hook := &delayHook{script: script, timeout: 1200 * time.Millisecond}
		s.hook = redistest.Commands(hook.onCommand)
		client := s.newClient()
		submitter, err := submit.New(taskstest.Open(t, client, s.shared), submit.Options{})
		require.NoError(s, err)
		s.Cleanup(func() { require.NoError(s, submitter.Close()) })
		return submitter, func() { require.NoError(s, s.client.Do(s.Context(), hook.delayed...).Err()) }
	}
	paid := func(s *story, id string, after time.Duration) message.Message {
		m := s.message(id, after)
		m.Account = "acme"
		return m
	}
	t.Run("submit", func(t *testing.T) {
		tell(t, func(s *story) {
			s.charges("acme", accounts.Tier{MessagesPerDay: 5}, "")
			s.accepted(paid(s, "first", time.Hour))
			late, arrive := delayed(s, lua.Reserve)
			o, err := late.Submit(s.Context(), paid(s, "second", time.Hour))
			require.NoError(s, err)
			require.Equal(s, message.Refused, o.Outcome)
			s.cancelled("first")
			arrive()
			require.NotEmpty(s, s.record("alice", "second"), "it was accepted")
			settled(s)
		})
	})
	t.Run("move", func(t *testing.T) {
		tell(t, func(s *story) {
			s.charges("acme", accounts.Tier{MessagesPerDay: 5}, "")
			s.accepted(paid(s, "first", time.Hour), paid(s, "second", 2*time.Hour))
			late, arrive := delayed(s, lua.Move)
			o, err := late.For("acme").Move(s.Context(), "alice", "second", s.at(time.Hour))
			require.NoError(s, err)
			require.Equal(s, message.Refused, o.Outcome)
			s.cancelled("first")
			arrive()
			status, _, err := s.Status(s.Context(), "alice", "second")
			require.NoError(s, err)
			require.Equal(s, s.at(time.Hour), status.SendAt.Time)
			settled(s)
		})
	})
}

// At the end of an hour, a program whose clock is ahead takes what is still to come
// for past.
func TestTheStoresClockDecidesAboutTheHour(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2}, "")
		first, second := s.paid("1", 2*time.Hour), s.paid("2", time.Hour+500*time.Millisecond)
		s.accepted(first)
		s.until(time.Hour + 2*time.Second)
		s.server.SetTime(s.at(time.Hour - 2*time.Second))
		ahead := s.newSubmitter(submit.Options{})
		o, err := ahead.Move(s.Context(), first.User, first.ID, s.at(time.Hour+500*time.Millisecond))
		require.NoError(s, err)
		require.Equal(s, message.Moved, o.Outcome)
		require.Equal(s, s.at(time.Hour+500*time.Millisecond), o.SendAt.Time)
		o, err = s.newSubmitter(submit.Options{}).Submit(s.Context(), second)
		require.NoError(s, err)
		require.Equal(s, message.Accepted, o.Outcome)
		s.requireCharges(nil, map[string][]string{first.User: {"1"}, second.User: {"2"}})
	})
}

// charged is a message of account acme to a user.
func (s *story) charged(user, id string, after time.Duration) message.Message {
	m := s.message(id, after)
	m.User, m.Account = user, "acme"
	return m
}

// What leaves the hour and the day that it was asked for, since the user's policy
// says so, is charged for those where it comes to stand, and for no other.
func TestAShiftByPolicyIsCharged(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2, MessagesPerDay: 3}, "UTC")
		s.policy(func(p *policy.Policy) {
			p.QuietHours, p.OnConflict = quiet(s, "22:00-08:00"), policy.Shift
		})
		night := 22*time.Hour + 30*time.Minute
		first := s.charged("u1", "a", night)
		o, err := s.Check(s.Context(), first)
		require.NoError(s, err)
		require.Equal(s, s.at(32*time.Hour), o.SendAt.Time)
		o = s.submit(first)
		require.Equal(s, s.at(32*time.Hour), o.SendAt.Time)
		require.True(s, s.submit(first).Replayed)
		require.Equal(s, s.at(32*time.Hour), s.submit(s.charged("u2", "b", night)).SendAt.Time)
		require.Equal(s, s.at(33*time.Hour), s.submit(s.charged("u3", "c", night)).SendAt.Time, "an hour later, since the first one is used up")
		o = s.submit(s.charged("u5", "e", night))
		require.Equal(s, []any{fault.CodeQuietHours, s.at(56 * time.Hour)}, []any{o.Code, o.NextFreeAt.Time}, "the day is used up, and the next one is too late")

		refused := s.charged("u4", "d", night)
		refused.OnConflict = message.OnConflictRefuse
		require.Equal(s, fault.CodeQuietHours, s.submit(refused).Code, "it holds nothing")
		s.requireCharges(map[string]*time.Location{"acme": time.UTC},
			map[string][]string{"u1": {"a"}, "u2": {"b"}, "u3": {"c"}, "u4": {"d"}, "u5": {"e"}})
	})
}

// What is never accepted for a user is said before what an account has left.
func TestBlockedAndQuietComeBeforeTheQuota(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerDay: 1}, "UTC")
		s.policy(func(p *policy.Policy) { p.QuietHours = quiet(s, "22:00-08:00") })
		s.accepted(s.charged("u1", "a", 12*time.Hour))
		s.set("u2", policy.UserSettings{Blocked: true})
		for user, code := range map[string]fault.Code{"u2": fault.CodeBlocked, "u3": fault.CodeQuietHours} {
			m := s.charged(user, "b", 22*time.Hour+30*time.Minute)
			require.Equal(s, code, s.submit(m).Code)
			o, err := s.Check(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, code, o.Code)
		}
		require.Equal(s, fault.CodeQuotaExceeded, s.submit(s.charged("u3", "b", 12*time.Hour)).Code)
		s.requireCharges(map[string]*time.Location{"acme": time.UTC},
			map[string][]string{"u1": {"a"}, "u2": {"b"}, "u3": {"b"}})
	})
}
