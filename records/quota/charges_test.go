package quota_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// chargeStory has the account acme with 2 messages an hour and 3 a day, and
// timelines of users. The store's clock shows midnight of 2026-11-22.
type chargeStory struct {
	*testing.T

	server   *miniredis.Miniredis
	client   *redis.Client
	charges  *quota.Charges
	timeline *sendlimit.Timeline
	account  accounts.Account
	tier     accounts.Tier
	keys     keyspace.Keys
	now      time.Time
}

func newChargeStory(t *testing.T) *chargeStory {
	t.Helper()
	server, client := redistest.Embedded(t)
	s := &chargeStory{
		T: t, server: server, client: client, now: story.At("00:00"),
		account: accounts.Account{Name: "acme", Contact: "ops@example.com"},
		tier:    accounts.Tier{Name: "small", MessagesPerHour: 2, MessagesPerDay: 3},
	}
	server.SetTime(s.now)
	var err error
	s.charges, err = quota.New(client, quota.Options{})
	require.NoError(t, err)
	s.timeline, err = sendlimit.NewTimeline(client, sendlimit.Options{Records: true})
	require.NoError(t, err)
	s.keys, err = keyspace.NewKeys("")
	require.NoError(t, err)
	return s
}

func (s *chargeStory) wait(d time.Duration) {
	s.now = s.now.Add(d)
	s.server.SetTime(s.now)
	s.server.FastForward(d)
}

func (s *chargeStory) hold(id string, when time.Time) quota.Charge {
	s.Helper()
	charge, err := s.charges.Hold(s.Context(), quota.Request{
		Account: s.account, Tier: s.tier, User: id, ID: id, At: when,
	})
	require.NoError(s, err)
	return charge
}

func (s *chargeStory) holdOf(id string, when time.Time) sendlimit.Hold {
	s.Helper()
	charge := s.hold(id, when)
	require.True(s, charge.Allowed, "%+v", charge)
	return charge.Hold
}

// reserve takes a place for a user of its own.
func (s *chargeStory) reserve(id string, when time.Time, h sendlimit.Hold) sendlimit.Decision {
	s.Helper()
	d, err := s.timeline.Reserve(s.Context(), sendlimit.Request{
		User: id, ID: id, At: when, Hold: &h, Record: &sendlimit.Record{Generation: keyspace.NewToken()},
	})
	require.NoError(s, err)
	return d
}

func (s *chargeStory) settle(h sendlimit.Hold, made bool) []string {
	s.Helper()
	notices, err := s.charges.Settle(s.Context(), time.Time{}, quota.Settlement{Account: h.Account, Attempt: h.Attempt, Made: made})
	require.NoError(s, err)
	return notices
}

// accept holds, reserves and settles one message.
func (s *chargeStory) accept(id string, when time.Time) []string {
	s.Helper()
	h := s.holdOf(id, when)
	require.True(s, s.reserve(id, when, h).Allowed)
	return s.settle(h, true)
}

func (s *chargeStory) used(when time.Time) (hour, day int64) {
	s.Helper()
	usage, err := s.charges.Usage(s.Context(), s.account, s.tier, when)
	require.NoError(s, err)
	return usage[0].Used, usage[1].Used
}

func (s *chargeStory) requireUsed(hour, day int64, when time.Time) {
	s.Helper()
	h, d := s.used(when)
	require.Equal(s, []int64{hour, day}, []int64{h, d})
}

// relay resolves due holds.
func (s *chargeStory) relay() (ends []quota.HoldEnd, notices []string) {
	s.Helper()
	due, err := s.charges.Due(s.Context(), s.now, 100)
	require.NoError(s, err)
	for _, hold := range due {
		ended, raised, err := s.charges.Resolve(s.Context(), hold, time.Time{})
		require.NoError(s, err)
		ends, notices = append(ends, ended...), append(notices, raised...)
	}
	return ends, notices
}

// A program died after it had charged, before or after the change. A relay that looks each second
// settles the charge within 20 seconds.
func TestAChargeIsSettledSoonAfterAProgramDied(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	s.holdOf("none", story.At("10:00"))
	require.True(t, s.reserve("made", story.At("10:00"), s.holdOf("made", story.At("10:00"))).Allowed)
	s.requireUsed(2, 2, story.At("10:00"))
	var ends []quota.HoldEnd
	for range 20 {
		s.wait(time.Second)
		now, _ := s.relay()
		ends = append(ends, now...)
	}
	require.Subset(t, ends, []quota.HoldEnd{quota.HoldGivenBack, quota.HoldCharged})
	s.requireUsed(1, 1, story.At("10:00"))
	due, err := s.charges.Due(t.Context(), s.now.Add(time.Hour), 100)
	require.NoError(t, err)
	require.Empty(t, due)
}

func TestQuotaOfHourAndDay(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	s.accept("1", story.At("10:00"))
	s.accept("2", story.At("10:59"))
	refused := s.hold("3", story.At("10:30"))
	require.False(t, refused.Allowed)
	require.Equal(t, fault.CodeQuotaExceeded, refused.Code)
	require.Equal(t, "hour", refused.UsedUp.Counter.Name)
	require.Equal(t, story.At("11:00"), refused.UsedUp.Until)
	require.Zero(t, refused.RetryAfter, "no waiting makes room in an hour to come")
	require.Equal(t, int64(2), refused.UsedUp.Used)
	s.accept("4", story.At("11:00"))
	refused = s.hold("5", story.At("12:00"))
	require.Equal(t, "day", refused.UsedUp.Counter.Name)
	require.Equal(t, story.At("00:00").AddDate(0, 0, 1), refused.UsedUp.Until)
	require.Equal(t, 24*time.Hour, refused.RetryAfter, "it is today")
	require.Equal(t, "day", s.hold("6", story.At("10:00")).UsedUp.Counter.Name, "of both the one that ends last")
	s.accept("7", story.At("00:00").AddDate(0, 0, 1))
	s.requireUsed(2, 3, story.At("10:00"))
	s.requireUsed(1, 1, story.At("00:00").AddDate(0, 0, 1))
}

func TestRefusalsChargeNothingAndADryRunAgrees(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	request := quota.Request{Account: s.account, Tier: s.tier, User: "u", ID: "i", At: story.At("10:00")}
	for i := range 4 {
		d, err := s.charges.StartDryRun().Hold(t.Context(), request)
		require.NoError(t, err)
		charge := s.hold(strconv.Itoa(i), story.At("10:00"))
		require.Equal(t, charge.Allowed, d.Allowed)
		require.Equal(t, charge.Code, d.Code)
		require.Equal(t, charge.UsedUp, d.UsedUp)
	}
	s.requireUsed(2, 2, story.At("10:00"))
}

// A message that a rule refuses holds a charge meanwhile: others of the same dry run wait for its end.
func TestADryRunWaitsForOpenHolds(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	dryRun := s.charges.StartDryRun()
	hold := func(ctx context.Context) (quota.Charge, error) {
		return dryRun.Hold(ctx, quota.Request{Account: s.account, Tier: s.tier, User: "u", ID: "i", At: story.At("10:00")})
	}
	taken := func() sendlimit.Hold {
		charge, err := hold(t.Context())
		require.NoError(t, err)
		require.True(t, charge.Allowed)
		return charge.Hold
	}
	last := func(end func(sendlimit.Hold), open sendlimit.Hold) quota.Charge {
		charged := make(chan quota.Charge)
		go func() {
			charge, err := hold(t.Context())
			assert.NoError(t, err)
			charged <- charge
		}()
		select {
		case charge := <-charged:
			require.Fail(t, "it did not wait", charge)
		case <-time.After(20 * time.Millisecond):
		}
		end(open)
		return <-charged
	}
	dryRun.Keep(taken()) // the hour allows two
	charge := last(dryRun.GiveBack, taken())
	require.True(t, charge.Allowed)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := hold(ended)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, fault.CodeQuotaExceeded, last(dryRun.Keep, charge.Hold).Code)
}

// The client library repeats a call that timed out.
func TestARepeatedHoldChargesOnce(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	var repeated [][]any
	s.client.AddHook(redistest.Commands(repeatHook{&repeated}.onCommand))
	h := s.holdOf("1", story.At("10:00"))
	s.requireUsed(1, 1, story.At("10:00"))
	require.NotEmpty(t, repeated)
	s.settle(h, true)
	require.NoError(t, s.client.Do(t.Context(), repeated[0]...).Err(), "a copy that comes when all is over")
	s.requireUsed(1, 1, story.At("10:00"))
	s.settle(h, true)
	s.settle(h, false)
	s.requireUsed(1, 1, story.At("10:00"))
}

func TestGivenBackIsGivenBackOnce(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	first, second := s.holdOf("1", story.At("10:00")), s.holdOf("2", story.At("10:00"))
	s.settle(first, false)
	s.settle(first, false)
	s.settle(first, true)
	s.requireUsed(1, 1, story.At("10:00"))
	s.settle(second, false)
	s.requireUsed(0, 0, story.At("10:00"))
	require.Empty(t, s.client.Keys(t.Context(), "*:q:*").Val())
	s.settle(second, false)
	require.Empty(t, s.client.Keys(t.Context(), "*:q:*").Val(), "no counter is made by giving back")
}

// A period gives back as many cancelled messages as its limit is: their records are kept. The other
// counters are always given back.
func TestCancelsBeyondTheQuotaStayCharged(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		hour, day int64 // limits
		stays     [][]int64
	}{
		{2, 3, [][]int64{{0, 0}, {0, 0}, {0, 0}, {0, 1}, {0, 2}, {0, 3}}},
		{2, 0, [][]int64{{0, 0}, {0, 0}, {1, 0}, {2, 0}}},
		{0, 0, [][]int64{{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}},
	} {
		s, ten := newChargeStory(t), story.At("10:00")
		s.tier.MessagesPerHour, s.tier.MessagesPerDay = row.hour, row.day
		for i, want := range row.stays {
			id := strconv.Itoa(i)
			s.accept(id, ten)
			found, err := story.RecordsIn(t, s.client, "").Look(t.Context(), id, id)
			require.NoError(t, err)
			release, err := s.charges.HoldRelease(t.Context(), found[0], s.tier, time.Time{})
			require.NoError(t, err)
			d, err := s.timeline.Release(t.Context(), sendlimit.ReleaseRequest{User: id, ID: id, Hold: &release.Hold, From: ten})
			require.NoError(t, err)
			require.True(t, d.Allowed)
			s.settle(release.Hold, true)
			s.settle(release.Hold, true)
			s.requireUsed(want[0], want[1], ten)
		}
		refused := s.hold("more", ten)
		require.Equal(t, row.hour+row.day > 0, refused.Code == fault.CodeQuotaExceeded, "%+v", refused)
		require.True(t, s.hold("other", ten.Add(24*time.Hour)).Allowed)
		for _, key := range s.client.Keys(t.Context(), "*:back:*").Val() {
			require.Positive(t, s.client.PTTL(t.Context(), key).Val(), key)
		}
	}
}

func TestTheRelaySettlesByTheRecord(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	accepted := s.holdOf("accepted", story.At("10:00"))
	require.True(t, s.reserve("accepted", story.At("10:00"), accepted).Allowed)
	s.holdOf("lost", story.At("10:00"))
	ends, _ := s.relay()
	require.Empty(t, ends, "nothing is due yet")
	s.wait(14 * time.Second)
	ends, _ = s.relay()
	require.Empty(t, ends)
	s.wait(2 * time.Second)
	ends, _ = s.relay()
	require.ElementsMatch(t, []quota.HoldEnd{quota.HoldCharged, quota.HoldGivenBack}, ends)
	s.requireUsed(1, 1, story.At("10:00"))
	ends, _ = s.relay()
	require.Empty(t, ends)
}

// A stalled program cannot make a change after its charge was given back.
func TestAStalledSubmitIsNotAccepted(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	h := s.holdOf("1", story.At("10:00"))
	s.wait(sendlimit.DefaultLookAfter/2 + time.Millisecond)
	d := s.reserve("1", story.At("10:00"), h)
	require.Equal(t, fault.CodeHoldOver, d.Code)
	s.wait(sendlimit.DefaultLookAfter)
	ends, _ := s.relay()
	require.Equal(t, []quota.HoldEnd{quota.HoldGivenBack}, ends)
	s.requireUsed(0, 0, story.At("10:00"))
}

func TestAlertsAreRaisedWhenSettled(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	s.tier = accounts.Tier{Name: "ten", MessagesPerDay: 10}
	for i := range 7 {
		require.Empty(t, s.accept(strconv.Itoa(i), story.At("10:00").Add(time.Duration(i)*time.Hour)))
	}
	eighth := s.holdOf("8", story.At("20:00"))
	require.Empty(t, s.settle(eighth, false), "given back at the threshold")
	waiting := s.holdOf("8", story.At("20:00"))
	require.True(t, s.reserve("8", story.At("20:00"), waiting).Allowed)
	s.holdOf("lost", story.At("21:00"))
	s.wait(20 * time.Second)
	_, raised := s.relay()
	day := notices.FormatID(notices.AccountQuota, story.At("00:00"), 80, "acme")
	require.Equal(t, []string{day}, raised, "what is held and given back counts in no alert")
	require.Empty(t, s.accept("9", story.At("21:00")))
	require.Equal(t, []string{notices.FormatID(notices.AccountQuota, story.At("00:00"), 100, "acme")}, s.accept("10", story.At("22:00")))
}

func TestWhomToTellDecidesAboutAlerts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*chargeStory){
		"nobody":   func(s *chargeStory) { s.account.Contact = "" },
		"never":    func(s *chargeStory) { s.tier.AlertAt = []int{} },
		"no limit": func(s *chargeStory) { s.tier.MessagesPerDay = 0 },
	} {
		s := newChargeStory(t)
		s.tier.MessagesPerHour = 0
		change(s)
		for i := range 3 {
			require.Empty(t, s.accept(strconv.Itoa(i), story.At("10:00")), name)
		}
	}
}

func TestALimitChangedHoldsFromTheNextHold(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	s.accept("1", story.At("10:00"))
	s.accept("2", story.At("10:00"))
	s.tier.MessagesPerHour = 1
	require.False(t, s.hold("3", story.At("10:00")).Allowed)
	s.tier.MessagesPerHour = 3
	require.True(t, s.hold("3", story.At("10:00")).Allowed)
	s.requireUsed(3, 3, story.At("10:00"))
}

func TestNowHasToBeThePresentHour(t *testing.T) {
	t.Parallel()
	s := newChargeStory(t)
	for reason, test := range map[string]struct {
		at      time.Time
		present bool
		code    fault.Code
	}{
		"the hour that it is":                      {story.At("00:59"), true, ""},
		"a clock that is ahead":                    {story.At("01:00"), true, fault.CodeOutsideHold},
		"a clock that is behind":                   {story.At("00:00").Add(-1), true, fault.CodeOutsideHold},
		"ahead of time is what charges are for":    {story.At("01:00"), false, ""},
		"no hour that is over is charged any more": {story.At("00:00").Add(-1), false, fault.CodeOutsideHold},
	} {
		charge, err := s.charges.Hold(t.Context(), quota.Request{
			Account: s.account, Tier: s.tier, User: "u", ID: "i", At: test.at, Present: test.present,
		})
		require.NoError(t, err)
		require.Equal(t, test.code, charge.Code, reason)
		require.Equal(t, s.now, charge.Now, reason)
	}
}

// quoted is a story whose account and tier are stored.
func quoted(t *testing.T) (*chargeStory, *accounts.Accounts) {
	t.Helper()
	s := newChargeStory(t)
	directory := accounts.New(s.client, keyspace.KeysUnder(""))
	s.tier = accounts.Tier{Name: "small", MessagesPerDay: 100}
	require.NoError(t, directory.SetTier(t.Context(), s.tier))
	s.account.Tier = "small"
	_, err := directory.Create(t.Context(), s.account)
	require.NoError(t, err)
	return s, directory
}

// charged charges messages of a day, and settles the charges.
func (s *chargeStory) charged(from, until int, at time.Time) {
	s.Helper()
	for i := from; i < until; i++ {
		charge := s.hold(strconv.Itoa(i)+at.Format("-02"), at)
		require.True(s, charge.Allowed)
		_, err := s.charges.Settle(s.Context(), time.Time{}, quota.Settlement{Account: "acme", Attempt: charge.Hold.Attempt, Made: true})
		require.NoError(s, err)
	}
}

// raised are the thresholds in the outbox, with the quotas of those that came anew.
func (s *chargeStory) raised(day string) []string {
	s.Helper()
	outbox, err := notices.New(s.client, notices.Options{})
	require.NoError(s, err)
	due, _, err := outbox.Due(s.Context(), s.now.AddDate(2, 0, 0), 100)
	require.NoError(s, err)
	found := []string{}
	for _, d := range due {
		n, ok := notices.ParseID(d.ID)
		require.True(s, ok, d.ID)
		require.Equal(s, "acme", n.Subject)
		if n.Since.Format(time.DateOnly) != day {
			continue
		}
		text := strconv.Itoa(n.Threshold)
		if n.Raised > 0 {
			text += " of " + strconv.FormatInt(n.Raised, 10)
		}
		found = append(found, text)
	}
	slices.Sort(found)
	return found
}

// A lower quota alerts at once, today and on later days. A higher one alerts anew.
func TestAChangedQuotaAlerts(t *testing.T) {
	t.Parallel()
	s, directory := quoted(t)
	const today, later = "2026-11-22", "2026-11-25"
	s.charged(0, 60, s.now.Add(time.Hour))
	s.charged(0, 45, s.now.AddDate(0, 0, 3))
	require.Empty(t, s.raised(today))
	set := func(perDay int64) {
		s.tier.MessagesPerDay = perDay
		for range 2 { // a repeated call raises nothing
			require.NoError(t, s.charges.SetTier(t.Context(), directory, s.tier))
		}
	}
	set(50)
	require.Equal(t, []string{"100"}, s.raised(today))
	require.Equal(t, []string{"80"}, s.raised(later))
	set(200)
	require.Equal(t, []string{"100"}, s.raised(today), "30 % of the new quota")
	s.charged(60, 165, s.now.Add(time.Hour))
	require.Equal(t, []string{"100", "80 of 200"}, s.raised(today))
	s.charged(165, 200, s.now.Add(time.Hour))
	require.Equal(t, []string{"100", "100 of 200", "80 of 200"}, s.raised(today))
	require.Equal(t, []string{"80"}, s.raised(later))
	set(240)
	require.Contains(t, s.raised(today), "80 of 240", "83 % of it")
	set(0)
	require.Len(t, s.raised(today), 4)
	set(100)
	require.Len(t, s.raised(today), 5, "no limit, and a limit again")
}

// Another tier is another quota.
func TestAnotherTierAlerts(t *testing.T) {
	t.Parallel()
	s, directory := quoted(t)
	s.charged(0, 60, s.now.Add(time.Hour))
	require.NoError(t, directory.SetTier(t.Context(), accounts.Tier{Name: "tiny", MessagesPerDay: 70}))
	tiny, contact := "tiny", "other@example.com"
	_, err := s.charges.SetAccount(t.Context(), directory, "acme", accounts.Change{Contact: &contact})
	require.NoError(t, err)
	require.Empty(t, s.raised("2026-11-22"))
	account, err := s.charges.SetAccount(t.Context(), directory, "acme", accounts.Change{Tier: &tiny})
	require.NoError(t, err)
	require.Equal(t, "tiny", account.Tier)
	require.Equal(t, []string{"80"}, s.raised("2026-11-22"))
}

// repeatHook calls every script twice, as if the first answer was lost, and
// keeps the calls.
type repeatHook struct{ calls *[][]any }

func (h repeatHook) onCommand(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
	if err := next(ctx, cmd); err != nil || cmd.Name() != "evalsha" && cmd.Name() != "eval" {
		return err
	}
	*h.calls = append(*h.calls, slices.Clone(cmd.Args()))
	return next(ctx, cmd)
}
