package tasks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
)

// The store is away for about as long as a lease lasts, while slow deliveries run in two
// workers. No worker dies and every delivery is answered, so every message is sent once:
// what is answered is settled before anybody takes it over. The race detector watches the
// same calls in the first round of the story about notices.
func TestNothingIsSentTwiceAfterAnOutageOfALease(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			tell(t, func(s *story) { s.outageOfALease(rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func (s *story) outageOfALease(random *rand.Rand) {
	var drawing sync.Mutex // deliveries run together
	upTo := func(most time.Duration) time.Duration {
		drawing.Lock()
		defer drawing.Unlock()
		return time.Duration(random.Int64N(int64(most)))
	}
	const pushTimeout, lease = 3 * time.Second, 13 * time.Second
	s.recorder.AnswerWith(func(_ context.Context, _ notifier.Notification) notifier.Result {
		time.Sleep(upTo(pushTimeout - time.Second))
		return notifier.Result{Status: notifier.Delivered}
	})
	for range 2 {
		s.work(func(o *tasks.WorkerOptions) {
			o.PushTimeout, o.SettleMargin, o.RelayEvery = pushTimeout, lease-pushTimeout, time.Second
		})
	}
	want := make(map[string]int)
	for i := range 12 {
		m := s.message(fmt.Sprint("m", i), 10*time.Second+upTo(4*time.Second).Truncate(time.Millisecond))
		m.User = fmt.Sprint("user", i)
		s.accepted(m)
		want[m.ID] = 1
	}
	cut := 11*time.Second + upTo(3*time.Second)
	s.until(cut)
	s.network.cut()
	mended := cut + lease - 4*time.Second + upTo(8*time.Second)
	s.until(mended)
	s.network.mend()
	if random.IntN(2) == 0 { // it goes away once more
		s.until(mended + upTo(3*time.Second))
		s.network.cut()
		mended += lease + upTo(3*time.Second)
		s.until(mended)
		s.network.mend()
	}
	s.until(mended + 3*time.Minute)
	sent := make(map[string]int)
	for _, d := range s.recorder.Deliveries() {
		sent[d.Notification.ID]++
	}
	require.Equal(s, want, sent)
	require.Zero(s, s.queued())
}

// A notice that a mail server took while the store was away is told once, too. The race
// detector watches one round: it makes a round take six times as much processor time.
func TestANoticeIsToldOnceAfterAnOutageOfALease(t *testing.T) {
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			if seed > 0 {
				sendlimittest.Long(t)
			}
			t.Parallel()
			tell(t, func(s *story) {
				random := rand.New(rand.NewPCG(seed, 2))
				upTo := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
				const pushTimeout, lease = 3 * time.Second, 13 * time.Second
				mail := slowMail{takes: time.Second + upTo(time.Second)}
				for range 2 {
					s.work(func(o *tasks.WorkerOptions) {
						o.PushTimeout, o.SettleMargin, o.RelayEvery = pushTimeout, lease-pushTimeout, 200*time.Millisecond
						o.Announcer = &mail
					})
				}
				s.putReport()
				for len(mail.all()) == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				s.network.cut() // before the mail server answers
				time.Sleep(lease - 2*time.Second + upTo(6*time.Second))
				s.network.mend()
				time.Sleep(30 * time.Second)
				require.Len(s, mail.all(), 1)
				require.Zero(s, s.waitingNotices())
			})
		})
	}
}
