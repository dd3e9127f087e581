package api

import (
	"context"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
)

// newCampaignTurns returns the turns of requests that work on campaigns. Each uses up to half
// of the time of the store.
func newCampaignTurns() *slots {
	return newTurns(2, "two requests work on campaigns, and no more do at a time: try again when one has ended", "request under way that works on a campaign")
}

// aboutCampaignWork describes the lines of work on a campaign.
const aboutCampaignWork = "A `progress` line comes at once, and then at most every second; while the messages are counted first, `messages` grows. Each message that is refused is a line. " +
	"The summary is the last line. If the request stops early, the summary covers what was done, and the last line is a problem's outcome. " +
	"The request ends with the connection. Two work on campaigns at a time; others are answered with 429."

// workOnCampaign works on a campaign, and answers with its lines as they come.
func (s *server) workOnCampaign(
	w http.ResponseWriter, r *http.Request, work func(context.Context, campaign.Watcher) (message.CampaignSummary, error),
) {
	s.answerLines(w, r, s.campaignRuns, func(ctx context.Context, out *lineAnswer) (any, error) {
		lines := &campaignLines{lineAnswer: out, server: s}
		return work(ctx, campaign.Watcher{
			Refused:  func(o message.Outcome) error { return lines.refused(ctx, o) },
			Progress: lines.progress,
		})
	})
}

// campaignLines writes the lines of work on a campaign.
type campaignLines struct {
	*lineAnswer

	server *server
	told   time.Time // when progress was last told
}

// refused writes why a message keeps its place.
func (l *campaignLines) refused(ctx context.Context, o message.Outcome) error {
	o, err := l.server.concealed(ctx, o)
	if err != nil {
		return err
	}
	return l.line(o)
}

// progress is called after each page of messages. It sends the lines.
func (l *campaignLines) progress(done, total int) {
	var err error
	if now := l.server.Now(); now.Sub(l.told) >= progressEvery {
		l.told = now
		err = l.line(message.CampaignProgress{Outcome: message.CampaignProgressing, Done: done, Total: total})
	}
	l.send(err)
}
