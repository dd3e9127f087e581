package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
)

const campaignPath = v1 + "campaigns/{campaign}"

// newCountTurns returns the turns of requests that count campaigns.
func newCountTurns() *slots {
	return newTurns(2, "two campaigns are being counted, and no more are at a time: try again when one has ended", "count of a campaign under way")
}

func campaignParameters() []*huma.Param {
	return []*huma.Param{
		{
			Name: "campaign", In: "path", Required: true, Example: "spring",
			Description: "The campaign's name: 1 to 64 of a-z A-Z 0-9 . _ -",
			Schema:      parameterSchema("campaign"),
		},
		ofAccount("The account whose campaign it is; by default the key's own. Another one needs the scope admin."),
	}
}

// campaignOf returns the campaign that a request is about.
func campaignOf(r *http.Request, q web.Query) (campaign.Campaign, error) {
	name := r.PathValue("campaign")
	if name == "" || keyspace.CheckCampaign(name) != nil {
		return campaign.Campaign{}, &fault.InvalidError{Field: "campaign", Value: name, Want: keyspace.WantCampaign}
	}
	account, err := accountMeant(r.Context(), q)
	return campaign.Campaign{Account: account, Name: name}, err
}

// countGoesOn documents how to count many messages.
const countGoesOn = "If there are so many messages that counting takes long, the answer has those that were counted so far, and `more`: " +
	"GET with it goes on, until an answer has none."

func (s *server) countCampaignRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "countCampaign", Method: http.MethodGet, Path: campaignPath, Tags: []string{"campaigns"},
			Summary: "Count the messages of a campaign",
			Description: "By their statuses, as long as their records are kept; an unknown campaign has none. GET /v1/messages?campaign= lists them. " +
				countGoesOn + " Two are counted at a time; others are answered with 429.",
			Parameters: append(campaignParameters(), &huma.Param{
				Name: "more", In: "query", Description: "Goes on with a count: the value of more in the answer before, as it is.",
				Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1)},
			}),
			Responses: responses[message.CampaignStatus](s, "How many there are."),
		},
		scope: accounts.ScopeRead, do: s.countCampaign,
	}
}

func (s *server) countCampaign(r *http.Request, q web.Query) (web.Answer, error) {
	of, err := campaignOf(r, q)
	if err != nil {
		return web.Answer{}, err
	}
	counting := s.counting()
	var given bool
	if counting.More, given = q["more"]; given && counting.More == "" { // it would begin anew
		return web.Answer{}, fault.Wrong("more", "the query parameter more has no value: give it one, or leave it out")
	}
	who := callerOf(r.Context()).holder()
	if err := s.campaignCounts.take(who); err != nil {
		return web.Answer{}, err
	}
	defer s.campaignCounts.leave(who)
	return s.counted(r.Context())(s.campaigns.Count(r.Context(), of, counting))
}

// counted answers with a count.
func (s *server) counted(ctx context.Context) func(message.CampaignStatus, error) (web.Answer, error) {
	return func(c message.CampaignStatus, err error) (web.Answer, error) {
		c.More = s.sealed(ctx, c.More)
		return done(c, err)
	}
}

// counting bounds how long one answer counts.
func (s *server) counting() campaign.Counting { return campaign.Counting{Within: s.limits.Count} }

func (s *server) pauseCampaignRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "pauseCampaign", Method: http.MethodPost, Path: campaignPath + "/pause", Tags: []string{"campaigns"},
			Summary: "Pause a campaign",
			Description: "Its messages keep their places, which count for others, and are not delivered. Within 4 seconds every worker follows; " +
				"what is being sent is sent. A message that expires meanwhile is dropped. Pausing twice is no error. At most 200 campaigns " +
				"of an account are paused at a time, and one without messages can't be. Then the messages are counted. " + countGoesOn,
			Parameters: campaignParameters(),
			Responses:  responses[message.CampaignStatus](s, "Paused: how many messages it has.", http.StatusNotFound),
		},
		scope: accounts.ScopeSubmit, do: func(r *http.Request, q web.Query) (web.Answer, error) {
			of, err := campaignOf(r, q)
			if err != nil {
				return web.Answer{}, err
			}
			who := callerOf(r.Context()).holder()
			if err := s.campaignCounts.awaitTurn(r.Context(), who); err != nil {
				return web.Answer{}, err
			}
			defer s.campaignCounts.leave(who)
			return s.counted(r.Context())(s.campaigns.Pause(r.Context(), of, s.counting()))
		},
	}
}

func (s *server) resumeCampaignRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "resumeCampaign", Method: http.MethodPost, Path: campaignPath + "/resume", Tags: []string{"campaigns"},
			Summary: "Resume a paused campaign",
			Description: "Messages whose time has passed are judged as late ones: each gets the next free time under the rules. It takes 4 seconds, " +
				"until every worker knows. Of a request that stopped early, each message is looked at within an hour. " +
				"The summary is `campaign_resumed`. " + aboutCampaignWork,
			Parameters: campaignParameters(),
			Responses:  s.campaignResponses(),
		},
		scope: accounts.ScopeSubmit, streams: true, attended: true,
		handle: s.campaignWork(func(ctx context.Context, of campaign.Campaign, w campaign.Watcher) (message.CampaignSummary, error) {
			return s.campaigns.Resume(ctx, of, w)
		}),
	}
}

func (s *server) cancelCampaignRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "cancelCampaign", Method: http.MethodPost, Path: campaignPath + "/cancel", Tags: []string{"campaigns"},
			Summary: "Cancel the messages of a campaign",
			Description: "All that are not sent yet, which erases their contents. The same request goes on after one that stopped early. " +
				"The summary is `campaign_cancelled`. " + aboutCampaignWork,
			Parameters: campaignParameters(),
			Responses:  s.campaignResponses(),
		},
		scope: accounts.ScopeSubmit, streams: true, attended: true,
		handle: s.campaignWork(func(ctx context.Context, of campaign.Campaign, w campaign.Watcher) (message.CampaignSummary, error) {
			return s.campaigns.Cancel(ctx, s.actingFor(of.Account), of, w)
		}),
	}
}

func (s *server) moveCampaignRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "moveCampaign", Method: http.MethodPost, Path: campaignPath + "/move", Tags: []string{"campaigns"},
			Summary: "Move the messages of a campaign by a length of time",
			Description: "All that are not sent yet. A message whose new time is refused keeps its place, and is a line. With preview nothing is " +
				"changed: each message is judged as if it alone were moved. After a request that stopped early, the same request goes on, and moves no message twice. " +
				"After one that ended, it moves the campaign again. While another request moves the campaign the answer is campaign_running. " +
				"The summary is `campaign_moved` or `campaign_previewed`. " + aboutCampaignWork,
			Parameters:  campaignParameters(),
			RequestBody: jsonBody[message.CampaignMoveDraft](s),
			Responses:   s.campaignResponses(bodyProblems(http.StatusConflict)...),
		},
		scope: accounts.ScopeSubmit, handle: s.moveCampaign, streams: true, attended: true,
	}
}

func (s *server) moveCampaign(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(s.now().Add(s.limits.Timeout)) // there are none in some tests
	var by time.Duration
	var draft message.CampaignMoveDraft
	err := refuseIdempotencyKey(r.Header)
	if err == nil {
		draft, err = web.ReadBody(s.bodies(), r, func(d message.CampaignMoveDraft) (err error) {
			by, err = d.Length()
			return err
		})
	}
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	s.campaignWork(func(ctx context.Context, of campaign.Campaign, watcher campaign.Watcher) (message.CampaignSummary, error) {
		if draft.Preview {
			return s.campaigns.Preview(ctx, s.actingFor(of.Account), of, by, watcher)
		}
		return s.campaigns.Move(ctx, s.actingFor(of.Account), of, by, watcher)
	})(w, r)
}
