package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/tasks"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// herd submits messages of a campaign of an account, a user each, that are due in the same
// millisecond.
func (s *story) herd(account, campaign string, n int, after time.Duration) {
	s.Helper()
	for i := range n {
		m := inCampaign(campaign, s.toUser(i, after))
		m.ID, m.Account = fmt.Sprint(account, "-", campaign), account
		s.accepted(m)
	}
}

// A herd of one account holds up no other account, and no other message of its own that is not
// in its campaign. Its messages have lanes, which go afterwards.
func TestAccountsShareAWorker(t *testing.T) {
	tell(t, func(s *story) {
		s.account(accounts.Account{Name: "acme"})
		s.account(accounts.Account{Name: "other"})
		s.shared.Horizon = time.Minute
		s.Submitter = s.newSubmitter(submit.Options{})
		const herd, deliveries, each = 300, 8, 100 * time.Millisecond
		s.herd("acme", "sale", herd, 3*time.Minute)
		for i := range 20 {
			after := 3*time.Minute + time.Duration(i)*150*time.Millisecond
			other, own := s.message(fmt.Sprint("other", i), after), s.message(fmt.Sprint("own", i), after)
			other.User, own.User = fmt.Sprint("quiet-", i), fmt.Sprint("own-", i)
			other.Account, own.Account = "other", "acme"
			s.accepted(other, own)
		}
		s.work(relaying, func(o *tasks.WorkerOptions) {
			o.Deliveries, o.Notifier = deliveries, slowFor{s.recorder, "", each}
		})
		s.until(2*time.Minute + 30*time.Second)
		require.Len(s, s.queues(), 3, "the queue, a lane of the campaign, and one of what is in none")
		s.until(5 * time.Minute)
		last := time.Duration(0)
		require.Len(s, s.recorder.Deliveries(), herd+40)
		for _, d := range s.recorder.Deliveries() {
			late := d.At.Sub(d.Notification.SendAt)
			if strings.HasSuffix(d.Notification.ID, "sale") {
				last = max(last, late)
			} else {
				require.LessOrEqual(s, late, each+time.Millisecond, d.Notification.ID)
			}
		}
		require.LessOrEqual(s, last, (herd+40)*each/deliveries*4/3, "the herd uses what is left")
		require.Equal(s, []string{queue.Name("")}, s.queues())
	}, "1000/hour")
}

// An account whose provider takes very long, or whose pace is slow, has few messages a second,
// and yet more and more in hand. They hold up no other account.
func TestAnAccountWithSlowDeliveriesHoldsUpNoOther(t *testing.T) {
	for name, slowed := range map[string]struct {
		pace   string
		takes  time.Duration
		within time.Duration // how late messages of the other account may be
	}{"provider": {"", 5 * time.Second, 100 * time.Millisecond}, "pace": {"1/50ms", 0, 250 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			tell(t, func(s *story) {
				s.account(accounts.Account{Name: "acme"})
				s.account(accounts.Account{Name: "other"})
				s.pace(slowed.pace, 0)
				for i := range 1200 {
					m := s.toUser(i, time.Minute+time.Duration(i)*25*time.Millisecond)
					m.Account = "acme"
					s.accepted(m)
				}
				for i := range 40 {
					m := s.message(fmt.Sprint("other", i), time.Minute+time.Duration(i)*time.Second)
					m.User, m.Account = fmt.Sprint("quiet-", i), "other"
					s.accepted(m)
				}
				s.work(relaying, func(o *tasks.WorkerOptions) {
					o.Deliveries, o.Notifier = 8, slowFor{s.recorder, "user-", slowed.takes}
				})
				s.until(2 * time.Minute)
				quiet := 0
				for _, d := range s.recorder.Deliveries() {
					if strings.HasPrefix(d.Notification.ID, "other") {
						quiet++
						require.LessOrEqual(s, d.At.Sub(d.Notification.SendAt), slowed.within, d.Notification.ID)
					}
				}
				require.Equal(s, 40, quiet)
			}, "1000/hour")
		})
	}
}

// slowFor takes a time for messages to some users.
type slowFor struct {
	*notifiertest.Recorder

	prefix string
	time   time.Duration
}

func (l slowFor) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	if strings.HasPrefix(n.User, l.prefix) {
		defer time.Sleep(l.time)
	}
	return l.Recorder.Notify(ctx, n)
}

// Accounts also share a pace: few of another one's go before a message.
func TestAccountsShareAPace(t *testing.T) {
	tell(t, func(s *story) {
		s.account(accounts.Account{Name: "acme"})
		s.account(accounts.Account{Name: "other"})
		s.pace("1/50ms", 0)
		s.herd("acme", "sale", 150, time.Minute)
		for i := range 20 {
			m := s.message(fmt.Sprint("other", i), time.Minute+time.Duration(i)*500*time.Millisecond)
			m.User, m.Account = fmt.Sprint("quiet-", i), "other"
			s.accepted(m)
		}
		s.work(relaying)
		s.until(2 * time.Minute)
		require.Len(s, s.recorder.Deliveries(), 170)
		for _, d := range s.recorder.Deliveries() {
			if !strings.HasPrefix(d.Notification.ID, "other") {
				require.Less(s, d.At.Sub(d.Notification.SendAt), 20*time.Second, d.Notification.ID)
				continue
			}
			before := 0
			for _, h := range s.recorder.Deliveries() {
				if h.Notification.User != d.Notification.User && !h.At.Before(d.Notification.SendAt) && h.At.Before(d.At) {
					before++
				}
			}
			// One has just gone, one has the turn, and who is new comes after who had a turn before.
			require.LessOrEqual(s, before, 3, d.Notification.ID)
		}
	}, "1000/hour")
}
