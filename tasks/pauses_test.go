package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/campaigns"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// inCampaign returns the message as one of a campaign.
func inCampaign(campaign string, m message.Message) message.Message {
	m.Campaign = campaign
	return m
}

// A paused campaign's messages keep their places and are not delivered. Others go out on time.
// After it is resumed, late rules hold.
func TestPausedCampaign(t *testing.T) {
	t.Parallel()
	tell(t, func(s *story) {
		s.work()
		pauses, err := campaigns.New(s.client, "")
		require.NoError(s, err)
		spring := campaigns.Campaign{Name: "spring"}
		expires := inCampaign("spring", s.message("expires", 90*time.Second))
		expires.ExpiresAt = s.at(10 * time.Minute)
		s.accepted(inCampaign("spring", s.message("a", 30*time.Second)), expires, inCampaign("fall", s.message("other", 150*time.Second)),
			s.message("none", 210*time.Second), inCampaign("spring", s.message("far", 3*time.Hour)))
		_, err = pauses.Pause(s.Context(), spring, time.Time{})
		require.NoError(s, err)
		s.until(20 * time.Minute)
		s.delivered("other +2m30s", "none +3m30s")
		status := s.status("a")
		require.Equal(s, message.StatusScheduled, status.Status)
		require.Equal(s, messages.ReasonPaused, status.Reason)
		require.Equal(s, s.at(30*time.Second), status.SendAt.Time, "it keeps its place")
		require.Zero(s, status.NextTryAt)
		require.Zero(s, status.Attempts)
		require.Equal(s, "expired", s.status("expires").Reason)

		// Nobody resumes it in the store alone: the hourly look finds the message.
		_, err = pauses.Resume(s.Context(), spring)
		require.NoError(s, err)
		s.until(62 * time.Minute)
		s.delivered("other +2m30s", "none +3m30s", "a +1h0m30s")

		_, err = pauses.Pause(s.Context(), spring, time.Time{})
		require.NoError(s, err)
		s.until(3*time.Hour + time.Minute)
		s.delivered("other +2m30s", "none +3m30s", "a +1h0m30s")
		_, err = pauses.Resume(s.Context(), spring)
		require.NoError(s, err)
		s.until(3*time.Hour + time.Minute + campaigns.Lag)
		resumed, err := pauses.ResumeMessage(s.Context(), "alice", "far", keyspace.NewToken(), time.Time{})
		require.NoError(s, err)
		require.True(s, resumed)
		s.until(3*time.Hour + time.Minute + campaigns.Lag + 10*time.Second)
		s.delivered("other +2m30s", "none +3m30s", "a +1h0m30s", "far +3h1m4s")
	})
}
