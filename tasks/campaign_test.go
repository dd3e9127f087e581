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

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	stories "github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// campaignBackend opens a backend on the story's store.
func (s *story) campaignBackend() *backend.Backend {
	b, err := backend.Open(s.client, s.shared)
	require.NoError(s, err)
	return b
}

func (s *story) campaigns() *campaign.Campaigns {
	works := campaign.New(s.campaignBackend())
	return works
}

var errKilled = errors.New("killed")

// killing fails every call once so many were made, as if the process had died. The last one may be
// made, and not answered.
type killing struct {
	left   int
	unsaid bool
}

func (k *killing) onCall(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
	if k.left--; k.left < 0 {
		return errKilled
	}
	if err := next(ctx, cmds); err != nil || k.left > 0 || !k.unsaid {
		return err
	}
	return errKilled
}

// A move that dies anywhere goes on, and moves each message once. Messages of a user do not get
// in each other's way; others keep their places.
func TestMoveOfACampaignGoesOn(t *testing.T) {
	t.Parallel()
	for calls := 65; calls < 130; calls++ { // before, it looks at users without messages
		t.Run(strconv.Itoa(calls), func(t *testing.T) {
			if calls != 78 {
				sendlimittest.Long(t)
			}
			tell(t, func(s *story) { tellOfAMoveThatDies(s, killing{left: calls, unsaid: calls%2 == 0}) }, "1/minute")
		})
	}
}

// tellOfAMoveThatDies tells of a move of a campaign that dies after some calls, twice.
func tellOfAMoveThatDies(s *story, dies killing) {
	s.Helper()
	for i := range 3 {
		for user := range 4 {
			m := inCampaign("spring", s.message(fmt.Sprintf("m%d", i), time.Duration(10+i)*time.Minute))
			m.User = fmt.Sprintf("user-%d", user)
			s.accepted(m)
		}
	}
	s.accepted(inCampaign("fall", s.message("other", 20*time.Minute)))
	inTheWay := s.message("in-the-way", 13*time.Minute)
	inTheWay.User = "user-3"
	s.accepted(inTheWay)
	of := campaign.Campaign{Name: "spring"}

	preview, err := s.campaigns().DryRun(s.Context(), s.Submitter, of, time.Minute, campaign.Watcher{})
	require.NoError(s, err)
	require.Equal(s, 12, preview.Done+preview.Refused)

	var got message.CampaignSummary
	for killed := 2; ; killed-- {
		client := s.newClient()
		dying, err := backend.Open(client, s.shared)
		require.NoError(s, err)
		works := campaign.New(dying)
		submitter := s.newSubmitterOn(dying, submit.Options{})
		if hook := dies; killed > 0 {
			client.AddHook(redistest.Calls(hook.onCall))
		}
		if got, err = works.Move(s.Context(), submitter, of, time.Minute, campaign.Watcher{}); err == nil || dies.unsaid && got.Complete {
			break // to run it again after it is done would be another move
		}
		require.ErrorIs(s, err, errKilled)
	}
	require.True(s, got.Complete)
	require.Equal(s, 12, got.Messages)
	require.Equal(s, 9, got.Done, "the last of user-3 keeps its place, and so do those behind it")
	require.Equal(s, map[string]int{"1/minute": 3}, got.RefusedBy)
	for i := range 3 {
		for user := range 4 {
			status, _, err := s.Status(s.Context(), fmt.Sprintf("user-%d", user), fmt.Sprintf("m%d", i))
			require.NoError(s, err)
			after := time.Duration(11+i) * time.Minute
			if user == 3 {
				after -= time.Minute
			}
			require.Equal(s, s.at(after), status.SendAt.Time)
			require.LessOrEqual(s, len(status.History), 2, "it was moved once: %+v", status.History)
		}
	}
	require.Equal(s, s.at(20*time.Minute), s.status("other").SendAt.Time)
}

func TestCountAndCancelACampaign(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.accepted(inCampaign("spring", s.message("a", 10*time.Minute)), inCampaign("spring", s.message("b", 11*time.Minute)),
			inCampaign("fall", s.message("c", 12*time.Minute)))
		s.cancelled("b")
		of := campaign.Campaign{Name: "spring"}
		status, err := s.campaigns().Pause(s.Context(), of, campaign.Counting{})
		require.NoError(s, err)
		require.Equal(s, message.CampaignStatus{
			Campaign: "spring", PausedSince: message.Time{Time: s.at(0)}, Messages: 2,
			Statuses: map[string]int{message.StatusScheduled: 1, message.StatusCancelled: 1},
		}, status)
		for _, done := range []int{1, 0} {
			got, err := s.campaigns().Cancel(s.Context(), s.Submitter, of, campaign.Watcher{})
			require.NoError(s, err)
			require.Equal(s, message.CampaignSummary{
				Outcome: message.CampaignCancelled, Campaign: "spring", Messages: 2, Done: done, RefusedBy: map[string]int{}, Complete: true,
			}, got)
		}
		require.Equal(s, message.StatusScheduled, s.status("c").Status)

		_, err = s.campaigns().Count(s.Context(), campaign.Campaign{Name: "a b"}, campaign.Counting{})
		var wrong *fault.InvalidError
		require.ErrorAs(s, err, &wrong)
		require.Equal(s, "campaign", wrong.Field)
		_, err = s.campaigns().Move(s.Context(), s.Submitter, of, 0, campaign.Watcher{})
		require.ErrorAs(s, err, &wrong)
		require.Equal(s, "by", wrong.Field)
	})
}

// A cancelled campaign accepts nothing until it is reopened, from no program, even if that looked
// before the cancel. A message that was accepted before is told so again.
func TestACancelledCampaignAcceptsNothing(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.charges("acme", accounts.Tier{}, "UTC")
		first := inCampaign("spring", s.paid("first", 10*time.Minute))
		s.accepted(first)
		of := campaign.Campaign{Account: "acme", Name: "spring"}
		_, err := s.campaigns().Cancel(s.Context(), s.Submitter, campaign.Campaign{Name: "none"}, campaign.Watcher{})
		require.ErrorAs(s, err, new(*fault.NoSuchError))

		// A program submits all the time, as a file. Nothing that it gets accepted is left afterwards,
		// and nothing that was refused is charged.
		sent := map[string][]string{first.User: {first.ID}}
		stop, submitted := make(chan struct{}), make(chan map[string]int, 1)
		go func() {
			codes := make(map[string]int)
			defer func() { submitted <- codes }()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
				}
				m := inCampaign("spring", s.paid(fmt.Sprint(n), 20*time.Minute))
				second := m
				second.ID, second.SendAt = "second", m.SendAt.Add(2*time.Minute)
				outcomes, err := s.SubmitMany(s.Context(), []message.Message{m, second})
				if err != nil {
					codes[err.Error()]++
				}
				for _, o := range outcomes {
					codes[string(o.Code)]++
					sent[o.User] = append(sent[o.User], o.ID)
				}
			}
		}()
		time.Sleep(5 * time.Second)
		_, err = s.campaigns().Cancel(s.Context(), s.Submitter, of, campaign.Watcher{})
		require.NoError(s, err)
		time.Sleep(time.Second)
		close(stop)
		codes := <-submitted
		require.Greater(s, codes[""], 100)
		require.Greater(s, codes[string(fault.CodeCampaignEnded)], 20)
		require.Len(s, codes, 2)
		status, err := s.campaigns().Count(s.Context(), of, campaign.Counting{})
		require.NoError(s, err)
		require.Equal(s, map[string]int{message.StatusCancelled: 1 + codes[""]}, status.Statuses)
		require.NotZero(s, status.EndedAt)
		s.requireCharges(map[string]*time.Location{"acme": time.UTC}, sent)

		o, err := s.Submit(s.Context(), inCampaign("spring", s.paid("second", 30*time.Minute)))
		require.NoError(s, err)
		require.Equal(s, message.Refused, o.Outcome)
		require.Equal(s, fault.CodeCampaignEnded, o.Code)
		require.Contains(s, o.Detail, `campaign "spring" was cancelled at`)
		o, err = s.Check(s.Context(), inCampaign("spring", s.paid("second", 30*time.Minute)))
		require.NoError(s, err)
		require.Equal(s, fault.CodeCampaignEnded, o.Code)
		s.accepted(inCampaign("autumn", s.paid("other", 40*time.Minute)), inCampaign("spring", s.message("unpaid", 50*time.Minute)))

		for range 2 {
			status, err = s.campaigns().Reopen(s.Context(), of, campaign.Counting{})
			require.NoError(s, err)
			require.Zero(s, status.EndedAt)
		}
		time.Sleep(messages.EndLag)
		s.accepted(inCampaign("spring", s.paid("second", 30*time.Minute)))
	})
}

// A cancel waits for a message that is being sent. If that fails, it is not tried again; and a dead
// letter of the campaign is not retried.
func TestACancelWaitsForMessagesThatAreBeingSent(t *testing.T) {
	tellSlowly(t, func(s *story) {
		s.work()
		s.accepted(inCampaign("spring", s.message("dead", 10*time.Second)), inCampaign("spring", s.message("slow", 90*time.Second)))
		begun := make(chan struct{})
		s.recorder.AnswerWith(func(_ context.Context, n notifier.Notification) notifier.Result {
			if n.ID == "dead" {
				return gone()
			}
			close(begun)
			time.Sleep(10 * time.Second)
			return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: errors.New("no answer")}
		})
		<-begun
		_, err := s.campaigns().Cancel(s.Context(), s.Submitter, campaign.Campaign{Name: "spring"}, campaign.Watcher{})
		require.NoError(s, err)
		require.Equal(s, message.StatusCancelled, s.status("slow").Status)
		dead := s.deadLetters()
		o, err := dead.Retry(s.Context(), "alice", "dead")
		require.NoError(s, err)
		require.Equal(s, fault.CodeCampaignEnded, o.Code)
		s.until(10 * time.Minute)
		require.Equal(s, 1, s.status("slow").Attempts)
	})
}

// A count that stops early goes on, and counts each message once.
func TestACountGoesOn(t *testing.T) {
	tell(t, func(s *story) {
		const many = find.MaxPage + 7
		keys := s.keys()
		stories.StoreCampaign(s, s.client, keys, "spring", many, s.at(time.Hour))
		of := campaign.Campaign{Name: "spring"}
		var counted []int
		whole, err := s.campaigns().Count(s.Context(), of, campaign.Counting{Progress: func(n int) { counted = append(counted, n) }})
		require.NoError(s, err)
		require.Equal(s, message.CampaignStatus{
			Campaign: "spring", Messages: many, Statuses: map[string]int{message.StatusScheduled: many},
		}, whole)
		require.Equal(s, []int{find.MaxPage, many}, counted)

		first, err := s.campaigns().Pause(s.Context(), of, campaign.Counting{Within: -1})
		require.NoError(s, err)
		require.Equal(s, map[string]int{message.StatusScheduled: find.MaxPage}, first.Statuses)
		last, err := s.campaigns().Count(s.Context(), of, campaign.Counting{Within: -1, More: first.More})
		require.NoError(s, err)
		require.Equal(s, first.PausedSince, last.PausedSince)
		last.PausedSince = message.Time{}
		require.Equal(s, whole, last)

		for _, more := range []string{"x", "e30", first.More + "x", first.More[:20]} {
			_, err = s.campaigns().Count(s.Context(), of, campaign.Counting{More: more})
			var wrong *fault.InvalidError
			require.ErrorAs(s, err, &wrong, more)
			require.Equal(s, "more", wrong.Field)
		}
		_, err = s.campaigns().Count(s.Context(), campaign.Campaign{Name: "fall"}, campaign.Counting{More: first.More})
		var wrong *fault.InvalidError
		require.ErrorAs(s, err, &wrong)
		require.Equal(s, "more", wrong.Field, "of another campaign")
	})
}

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
		pauses := messages.NewPauses(s.client, keyspace.KeysUnder(""))
		spring := messages.Campaign{Name: "spring"}
		expires := inCampaign("spring", s.message("expires", 90*time.Second))
		expires.ExpiresAt = s.at(5 * time.Minute)
		s.accepted(inCampaign("spring", s.message("a", 30*time.Second)), expires, inCampaign("fall", s.message("other", 150*time.Second)),
			s.message("none", 210*time.Second))
		_, err := pauses.Pause(s.Context(), spring, time.Time{})
		require.NoError(s, err)
		for n := range messages.MaxPaused { // a claim gets only those of its account
			_, err := pauses.Pause(s.Context(), messages.Campaign{Account: "other", Name: strconv.Itoa(n)}, time.Time{})
			require.NoError(s, err)
		}
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
		works := campaign.New(s.campaignBackend())
		s.accepted(s.message("in-the-way", 6*time.Minute+5*time.Second))
		summary, err := works.Resume(s.Context(), spring, campaign.Watcher{})
		require.NoError(s, err)
		require.Equal(s, message.CampaignSummary{
			Outcome: message.CampaignResumed, Campaign: "spring", Messages: 2, Done: 1, RefusedBy: map[string]int{}, Complete: true,
		}, summary)
		s.until(12 * time.Minute) // the queue is seldom asked here
		deliveries := s.recorder.Deliveries()
		require.Len(s, deliveries, 4)
		require.Equal(s, "in-the-way", deliveries[2].Notification.ID)
		require.Equal(s, "a", deliveries[3].Notification.ID)
		require.GreaterOrEqual(s, deliveries[3].At.Sub(deliveries[2].At), time.Minute)
	}, "1/minute")
}
