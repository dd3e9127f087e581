package tasks_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// charges makes an account with a tier of its own.
func (s *story) charges(name string, tier accounts.Tier, zone string) {
	s.Helper()
	directory, err := accounts.New(s.client, "")
	require.NoError(s, err)
	tier.Name = name
	require.NoError(s, directory.SetTier(s.Context(), tier))
	_, err = directory.Create(s.Context(), accounts.Account{Name: name, Tier: name, TimeZone: zone})
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
	records, err := messages.NewRecords(s.client, "")
	require.NoError(s, err)
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
		directory, err := accounts.New(s.client, "")
		require.NoError(t, err)
		disabled := true
		_, err = directory.Set(s.Context(), "acme", accounts.Change{Disabled: &disabled})
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

func TestWhatTheTimelineRefusesIsGivenBack(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerDay: 2}, "")
		first, second := s.paid("1", time.Hour), s.paid("2", time.Hour)
		second.User = first.User
		s.accepted(first)
		for range 5 {
			require.Equal(t, fault.CodeSendLimit, s.submit(second).Code)
		}
		s.accepted(s.paid("3", time.Hour))
		require.Equal(t, fault.CodeQuotaExceeded, s.submit(second).Code, "the quota comes first")
		s.requireCharges(nil, map[string][]string{"user-1": {"1", "2"}, "user-3": {"3"}})
	})
}

func TestAHundredSubmittersGetExactlyTheQuota(t *testing.T) {
	t.Parallel()
	for alerts, tier := range map[int]accounts.Tier{0: {MessagesPerHour: 37, MessagesPerDay: 60}, 2: {MessagesPerHour: 60, MessagesPerDay: 37}} {
		story := func(s *story) {
			s.charges("acme", tier, "")
			directory, err := accounts.New(s.client, "")
			require.NoError(s, err)
			contact := "ops@example.org"
			_, err = directory.Set(s.Context(), "acme", accounts.Change{Contact: &contact})
			require.NoError(s, err)
			var accepted atomic.Int64
			messages := make(map[string][]string)
			var submitters sync.WaitGroup
			for i := range 100 {
				m := s.paid(strconv.Itoa(i), time.Hour)
				messages[m.User] = []string{m.ID}
				submitters.Go(func() {
					if o, err := s.Submit(s.Context(), m); err == nil && o.Outcome == message.Accepted {
						accepted.Add(1)
					}
				})
			}
			submitters.Wait()
			require.Equal(s, int64(37), accepted.Load())
			s.requireCharges(nil, messages)
			require.Equal(s, alerts, s.waitingNotices(), "at 80 and 100 %% of the day, once each")
		}
		t.Run(strconv.Itoa(alerts), func(t *testing.T) { tell(t, story) })
	}
}

func TestAShiftIsChargedWhereItGoes(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2}, "")
		messages := map[string][]string{"alice": {}}
		for i := range 4 {
			m := s.message(strconv.Itoa(i), time.Hour)
			m.Account, m.OnConflict = "acme", message.OnConflictShift
			messages["alice"] = append(messages["alice"], m.ID)
			o := s.submit(m)
			require.Equal(t, message.Accepted, o.Outcome, "%+v", o)
			require.Equal(t, s.at(time.Duration(i+1)*time.Hour), o.SendAt.Time)
		}
		s.requireCharges(nil, messages)
		full := s.message("full", 2*time.Hour)
		full.Account, full.OnConflict = "acme", message.OnConflictShift
		other := s.paid("other", 5*time.Hour)
		s.accepted(other, s.paid("another", 5*time.Hour))
		messages["user-other"], messages["user-another"] = []string{"other"}, []string{"another"}
		fixed := full
		fixed.OnConflict = message.OnConflictRefuse
		o := s.submit(fixed)
		require.Equal(t, []any{fault.CodeSendLimit, s.at(6 * time.Hour)}, []any{o.Code, o.NextFreeAt.Time}, "alice has 5:00 free, and acme has not")
		checked, err := s.Check(s.Context(), full)
		require.NoError(t, err)
		o = s.submit(full)
		require.Equal(t, []any{message.Accepted, s.at(6 * time.Hour)}, []any{o.Outcome, o.SendAt.Time}, "%+v", o)
		require.Equal(t, checked, o)
		messages["alice"] = append(messages["alice"], full.ID)
		s.requireCharges(nil, messages)
	}, "1/hour")
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

func TestMoveChargesWhereItGoesAndCancelGivesBack(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 1, MessagesPerDay: 2}, "")
		messages := map[string][]string{"user-1": {"1"}, "user-2": {"2"}, "user-3": {"3"}}
		s.accepted(s.paid("1", time.Hour), s.paid("2", 2*time.Hour))
		move := func(id string, after time.Duration) message.Outcome {
			o, err := s.Move(s.Context(), "user-"+id, id, s.at(after))
			require.NoError(t, err)
			s.requireCharges(nil, messages)
			return o
		}
		require.Equal(t, message.Moved, move("1", 90*time.Minute).Outcome, "within its full hour")
		require.Equal(t, message.Moved, move("1", 3*time.Hour).Outcome, "within its full day")
		o := move("1", 2*time.Hour)
		require.Equal(t, fault.CodeQuotaExceeded, o.Code)
		require.Contains(t, o.Detail, "account acme has no messages left for the hour from 2000-01-01 02:00")
		require.Equal(t, message.Moved, move("1", 25*time.Hour).Outcome)
		require.Equal(t, message.Moved, move("1", 25*time.Hour).Outcome, "where it is")
		require.Equal(t, fault.CodeInPast, move("1", -time.Hour).Code)
		s.accepted(s.paid("3", time.Hour))
		require.Equal(t, fault.CodeQuotaExceeded, move("1", 5*time.Hour).Code, "the day is full again")
		for _, id := range []string{"1", "3", "2", "3"} {
			o, err := s.Cancel(s.Context(), "user-"+id, id)
			require.NoError(t, err)
			require.Equal(t, message.Cancelled, o.Outcome)
			s.requireCharges(nil, messages)
		}
		s.requireCharges(nil, nil)
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

func TestADryRunJudgesQuotasAndLeavesNothing(t *testing.T) {
	tell(t, func(s *story) {
		s.charges("acme", accounts.Tier{MessagesPerHour: 2, MessagesPerDay: 3}, "")
		s.accepted(s.paid("there", time.Hour))
		time.Sleep(time.Second)
		before := s.server.Dump()
		messages := []message.Message{
			s.paid("a", time.Hour), s.paid("b", time.Hour), s.paid("a", time.Hour), s.paid("c", 2*time.Hour), s.paid("d", 3*time.Hour),
			s.paid("e", 25*time.Hour), s.paid("a", time.Hour), s.message("free", time.Hour),
		}
		single, err := s.Check(s.Context(), messages[0])
		require.NoError(t, err)
		dryRun, err := s.StartDryRun(s.Context())
		require.NoError(t, err)
		var dryRunMessages []message.Outcome
		for _, m := range messages {
			o, err := dryRun.Submit(s.Context(), m)
			require.NoError(t, err)
			dryRunMessages = append(dryRunMessages, o)
		}
		require.NoError(t, dryRun.Close(s.Context()))
		require.Equal(t, before, s.server.Dump())
		for i, m := range messages {
			o := s.submit(m)
			o.RetryAfterSeconds = dryRunMessages[i].RetryAfterSeconds // time goes on
			require.Equal(t, o, dryRunMessages[i])
			if i == 0 {
				require.Equal(t, o, single)
			}
		}
		check, err := s.Check(s.Context(), s.paid("x", time.Hour))
		require.NoError(t, err)
		require.Equal(t, s.submit(s.paid("x", time.Hour)), check)
		require.Equal(t, fault.CodeQuotaExceeded, check.Code)
	})
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
