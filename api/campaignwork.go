package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// mostCampaignRuns is how many requests work on campaigns at a time. Each uses up to half of
// the time of the store.
const mostCampaignRuns = 2

// campaignLines describes the lines of work on a campaign.
const campaignLines = "A `progress` line comes once the messages are counted, and then at most every second. Each message that is refused is a line. " +
	"The summary is the last line. If the request stops early, the summary covers what was done, and the last line is a problem's outcome. " +
	"The request ends with the connection. Two work on campaigns at a time; others are answered with 429."

// campaignResponses document the lines.
func (s *server) campaignResponses(problems ...int) map[string]*huma.Response {
	all := s.problems(problems...)
	all[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: "One JSON object a line; `outcome` says which kind it is.",
		Headers:     headers(web.RequestIDHeader),
		Content: map[string]*huma.MediaType{ndjson: {Schema: &huma.Schema{AnyOf: []*huma.Schema{
			schemaOf[message.CampaignProgress](s), schemaOf[message.CampaignSummary](s), schemaOf[message.Outcome](s),
		}}}},
	}
	return all
}

// campaignWork returns a handler that works on a campaign, and answers with its lines as they
// come.
func (s *server) campaignWork(
	work func(context.Context, campaign.Campaign, campaign.Watcher) (message.CampaignSummary, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := web.ParseQuery(r.URL.RawQuery, []string{"account"})
		var of campaign.Campaign
		if err == nil {
			of, err = campaignOf(r, q)
		}
		if err != nil {
			s.writeError(w, r, err)
			return
		}
		if !s.campaignRuns.TryAcquire(1) {
			web.WriteProblem(w, message.Outcome{
				Outcome: message.Refused, Code: fault.CodeRateLimited,
				Detail: "two requests work on campaigns, and no more do at a time: try again when one has ended",
			})
			return
		}
		defer s.campaignRuns.Release(1)
		control := http.NewResponseController(w)
		_ = control.SetReadDeadline(time.Time{}) // one that passes would look like the end of the connection
		ctx, stop := context.WithCancelCause(r.Context())
		lines := &campaignStream{server: s, answers: newAnswers(w, control, s.now, s.limits.Timeout), stop: stop}
		watched := s.endWhenStopping(ctx, stop, lines.answers)
		summary, err := work(ctx, of, campaign.Watcher{
			Refused:  func(o message.Outcome) error { return lines.refused(ctx, o) },
			Progress: lines.progress,
		})
		if err != nil {
			err = errors.Join(err, context.Cause(ctx))
		}
		stop(nil)
		watched()
		s.endRefit(w, r, lines.answers, summary, err)
	}
}

// campaignStream writes the lines of work on a campaign.
type campaignStream struct {
	*server

	answers *answers
	stop    context.CancelCauseFunc
	told    time.Time // when progress was last told
}

// refused writes why a message keeps its place.
func (l *campaignStream) refused(ctx context.Context, o message.Outcome) error {
	o, err := l.concealed(ctx, o)
	if err != nil {
		return err
	}
	return l.answers.line(o)
}

// progress is called after each page of messages. It flushes the lines.
func (l *campaignStream) progress(done, total int) {
	var err error
	if now := l.now(); now.Sub(l.told) >= progressEvery {
		l.told = now
		err = l.answers.line(message.CampaignProgress{Outcome: message.CampaignProgressing, Done: done, Total: total})
	}
	if err = errors.Join(err, l.answers.Flush()); err != nil {
		l.stop(err)
	}
}
