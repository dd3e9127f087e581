package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/campaigns"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
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
	tellSlowly(t, func(s *story) {
		s.work()
		pauses, err := campaigns.New(s.client, "")
		require.NoError(s, err)
		spring := campaigns.Campaign{Name: "spring"}
		expires := inCampaign("spring", s.message("expires", 90*time.Second))
		expires.ExpiresAt = s.at(5 * time.Minute)
		s.accepted(inCampaign("spring", s.message("a", 30*time.Second)), expires, inCampaign("fall", s.message("other", 150*time.Second)),
			s.message("none", 210*time.Second))
		_, err = pauses.Pause(s.Context(), spring, time.Time{})
		require.NoError(s, err)
		s.until(6 * time.Minute)
		s.delivered("other +2m30s", "none +3m30s")
		status := s.status("a")
		require.Equal(s, message.StatusScheduled, status.Status)
		require.Equal(s, messages.ReasonPaused, status.Reason)
		require.Equal(s, s.at(30*time.Second), status.SendAt.Time, "it keeps its place")
		require.Zero(s, status.NextTryAt)
		require.Zero(s, status.Attempts)
		require.Equal(s, messages.ReasonExpired, s.status("expires").Reason)

		// It is judged as late: another message takes the present minute.
		works, err := campaign.New(s.campaignBackend())
		require.NoError(s, err)
		s.accepted(s.message("in-the-way", 6*time.Minute+5*time.Second))
		summary, err := works.Resume(s.Context(), spring, campaign.Watcher{})
		require.NoError(s, err)
		require.Equal(s, message.CampaignSummary{
			Outcome: message.CampaignResumed, Campaign: "spring", Messages: 2, Done: 1, RefusedBy: map[string]int{}, Complete: true,
		}, summary)
		s.until(30 * time.Minute) // the queue is seldom asked here
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 4)
		require.Equal(s, "in-the-way", deliveries[2].Notification.ID)
		require.Equal(s, "a", deliveries[3].Notification.ID)
		require.GreaterOrEqual(s, deliveries[3].At.Sub(deliveries[2].At), time.Minute)
	}, "1/minute")
}
