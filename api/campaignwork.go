package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
)

// aboutCampaignWork describes the lines of work on a campaign.
const aboutCampaignWork = "A `progress` line comes at once, and then at most every second; while the messages are counted first, `messages` grows. Each refused message is a line. " +
	"The summary is the last line. If the request stops early, the summary covers the completed part, and the last line is a problem's outcome. " +
	"The request ends with the connection. At most two such requests run at a time; others get 429."

// workOnCampaign works on a campaign, and answers with its lines as they come.
func (s *server) workOnCampaign(
	w http.ResponseWriter, r *http.Request, work func(context.Context, campaign.Watcher) (message.CampaignSummary, error),
) {
	s.answerLines(w, r, s.campaignRuns, func(ctx context.Context, out *lineAnswer) (any, error) {
		return work(ctx, campaign.Watcher{
			Refused: func(o message.Outcome) error { // why a message keeps its place
				o, err := s.concealed(ctx, o)
				if err != nil {
					return err
				}
				return out.line(o)
			},
			Progress: func(done, total int) { // after each page of messages
				out.send(out.progress(message.CampaignProgress{Outcome: message.CampaignProgressing, Done: done, Total: total}))
			},
		})
	})
}
