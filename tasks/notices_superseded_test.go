package tasks_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
)

// The mail server is away while both thresholds are reached: only the higher one is told.
// The mail about 80 % could come after the one about 100 %.
func TestALowerThresholdIsNotToldAfterAHigherOne(t *testing.T) {
	tell(t, func(s *story) {
		mail := announcer{answers: []notifier.Result{
			{Status: notifier.Retry, Reason: notifier.ReasonUnreachable, Err: errors.New("connection refused")},
			{Status: notifier.Delivered},
		}}
		s.contactOf("alice", "alice@example.com")
		s.work(announces(&mail))
		for i := range 5 {
			s.accepted(s.message(strconv.Itoa(i), time.Duration(i+1)*time.Hour))
			if i == 3 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(30 * time.Second)
		told := []int{}
		for _, said := range mail.all() {
			told = append(told, said.notice.Threshold)
		}
		require.Equal(s, []int{80, 100}, told, "80 failed, and is not tried again")
		require.Zero(s, s.waitingNotices())
		require.Empty(s, s.deadNotices())
		keys, err := keyspace.NewKeys("")
		require.NoError(s, err)
		lower := keys.Notice("alice", "user_quota/946684800000/80/alice")
		require.Equal(s, notices.ReasonSuperseded, s.client.HGet(s.Context(), lower, keyspace.NoticeReason).Val())
	}, "5/calendar_day")
}
