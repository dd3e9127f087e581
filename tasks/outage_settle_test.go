package tasks_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks"
)

// A notice that a mail server took while the store was away is told once, too. The race
// detector watches one round: it makes a round take six times as much processor time.
func TestANoticeIsToldOnceAfterAnOutageOfALease(t *testing.T) {
	t.Parallel()
	for _, seed := range sendlimittest.Seeds(t, 4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			if seed > 0 {
				sendlimittest.Long(t)
			}
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
