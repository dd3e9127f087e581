package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/campaign"
)

const campaignPath = v1 + "campaigns/{campaign}"

// countGoesOn documents how to count many messages.
const countGoesOn = "If counting takes long, the answer has the counts so far, and `more`: " +
	"continue with GET and this value, until an answer has no `more`."

func (s *server) campaignRoutes() []route {
	lines := s.lines(schemaOf[message.CampaignProgress], schemaOf[message.CampaignSummary])
	return []route{
		operation(s, route{
			Operation: named("countCampaign", http.MethodGet, campaignPath, "campaigns",
				"Count the messages of a campaign",
				"Counts them by status, as long as their records are kept. An unknown campaign has none. GET /v1/messages?campaign= lists them. "+
					countGoesOn+" Two are counted at a time; others are answered with 429."),
			scope: accounts.ScopeRead, says: "The counts.",
		}, s.countCampaign),
		operation(s, route{
			Operation: named("pauseCampaign", http.MethodPost, campaignPath+"/pause", "campaigns",
				"Pause a campaign",
				"Its messages keep their places, and are not delivered. Every worker follows within 4 seconds; "+
					"messages being sent are still sent. Messages that expire meanwhile are dropped. Pausing twice is no error. At most 200 campaigns "+
					"of an account are paused at a time, and a campaign without messages can't be paused. Then the messages are counted. "+countGoesOn),
			scope: accounts.ScopeSubmit, says: "Paused. The counts of the campaign.", refuses: []int{http.StatusNotFound},
		}, s.pauseCampaign),
		stream(s, route{
			Operation: named("resumeCampaign", http.MethodPost, campaignPath+"/resume", "campaigns",
				"Resume a paused campaign",
				"Messages whose time has passed are late: each gets the next free time by the rules. It takes 4 seconds "+
					"until every worker knows. After a request that stopped early, each message is judged within an hour. "+
					"The summary is `campaign_resumed`. "+aboutCampaignWork),
			scope: accounts.ScopeSubmit, attended: true,
		}, lines, s.resumeCampaign),
		stream(s, route{
			Operation: named("cancelCampaign", http.MethodPost, campaignPath+"/cancel", "campaigns",
				"Cancel the messages of a campaign",
				"Ends the campaign: from 4 seconds after the request on, nothing is accepted for it, and the code is campaign_ended. Then all messages "+
					"that are not sent yet are cancelled, and their contents erased; messages being sent are waited for. After a request that stopped early, "+
					"the same request continues. A campaign without messages can't be cancelled. POST …/reopen lets it have messages again. "+
					"The summary is `campaign_cancelled`. "+aboutCampaignWork),
			scope: accounts.ScopeSubmit, attended: true, refuses: []int{http.StatusNotFound},
		}, lines, s.cancelCampaign),
		operation(s, route{
			Operation: named("reopenCampaign", http.MethodPost, campaignPath+"/reopen", "campaigns",
				"Accept messages for a cancelled campaign again",
				"Cancelled messages stay cancelled. Every program follows within 4 seconds. "+
					"Reopening twice is no error. Then the messages are counted. "+countGoesOn),
			scope: accounts.ScopeSubmit, says: "Reopened. The counts of the campaign.",
		}, s.reopenCampaign),
		stream(s, route{
			Operation: named("moveCampaign", http.MethodPost, campaignPath+"/move", "campaigns",
				"Move the messages of a campaign by a duration",
				"Moves all messages that are not sent yet. A message whose new time is refused keeps its place, and is a line. dry_run changes nothing: "+
					"each message is judged as if only this one were moved. After a request that stopped early, the same request continues, and moves no message twice. "+
					"After a complete one, it moves the campaign again. While another request moves the campaign, the answer is campaign_running. "+
					"The summary is `campaign_moved` or `campaign_dry_run`. "+aboutCampaignWork),
			scope: accounts.ScopeSubmit, attended: true, once: true, refuses: []int{http.StatusConflict},
		}, lines, s.moveCampaign),
	}
}

// counting bounds how long one answer counts.
func (s *server) counting() campaign.Counting { return campaign.Counting{Within: s.Limits.Count} }

type ofCampaign struct {
	Campaign string `path:"campaign"`
	Account  meant  `query:"account" example:"acme" doc:"The account of the campaign; by default the key's own. Another account requires the scope admin."`

	meant campaign.Campaign
}

func (in *ofCampaign) check(ctx context.Context, _ *server) (err error) {
	if in.Campaign == "" || keyspace.CheckCampaign(in.Campaign) != nil {
		return &fault.InvalidError{Field: "campaign", Value: in.Campaign, Want: keyspace.WantCampaign}
	}
	in.meant.Name = in.Campaign
	in.meant.Account, err = in.Account.by(ctx)
	return err
}

// campaignCount begins or continues a count.
type campaignCount struct {
	ofCampaign

	More moreCursor `query:"more" doc:"Continues a count: the unchanged value of more in the answer before."`
}

// moreCursor is where a count stopped; "" begins a new count.
type moreCursor string

func (*moreCursor) schema() *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MinLength: new(1)}
}

// UnmarshalText reads the parameter.
func (c *moreCursor) UnmarshalText(text []byte) error {
	if *c = moreCursor(text); *c == "" { // it would begin anew
		return fault.Wrong("more", "the query parameter more has no value: give it one, or leave it out")
	}
	return nil
}

func (s *server) countCampaign(ctx context.Context, in campaignCount) (message.CampaignStatus, error) {
	counting := s.counting()
	counting.More = string(in.More)
	who := callerOf(ctx).holder()
	if err := s.campaignCounts.take(who); err != nil {
		return message.CampaignStatus{}, err
	}
	defer s.campaignCounts.leave(who)
	c, err := s.Campaigns.Count(ctx, in.meant, counting)
	c.More = s.sealed(ctx, c.More)
	return c, err
}

func (s *server) pauseCampaign(ctx context.Context, in ofCampaign) (message.CampaignStatus, error) {
	return s.changeAndCount(ctx, in, s.Campaigns.Pause)
}

func (s *server) reopenCampaign(ctx context.Context, in ofCampaign) (message.CampaignStatus, error) {
	return s.changeAndCount(ctx, in, s.Campaigns.Reopen)
}

// changeAndCount changes the state of a campaign, and counts its messages.
func (s *server) changeAndCount(
	ctx context.Context, in ofCampaign,
	change func(context.Context, campaign.Campaign, campaign.Counting) (message.CampaignStatus, error),
) (message.CampaignStatus, error) {
	who := callerOf(ctx).holder()
	if err := s.campaignCounts.awaitTurn(ctx, who); err != nil {
		return message.CampaignStatus{}, err
	}
	defer s.campaignCounts.leave(who)
	c, err := change(ctx, in.meant, s.counting())
	c.More = s.sealed(ctx, c.More)
	return c, err
}

func (s *server) resumeCampaign(w http.ResponseWriter, r *http.Request, in ofCampaign) {
	s.workOnCampaign(w, r, func(ctx context.Context, watcher campaign.Watcher) (message.CampaignSummary, error) {
		return s.Campaigns.Resume(ctx, in.meant, watcher)
	})
}

func (s *server) cancelCampaign(w http.ResponseWriter, r *http.Request, in ofCampaign) {
	s.workOnCampaign(w, r, func(ctx context.Context, watcher campaign.Watcher) (message.CampaignSummary, error) {
		return s.Campaigns.Cancel(ctx, s.actingFor(in.meant.Account), in.meant, watcher)
	})
}

// campaignMove is the distance by which a campaign moves.
type campaignMove struct {
	ofCampaign

	Body object[message.CampaignMoveDraft]
	by   time.Duration
}

func (in *campaignMove) check(ctx context.Context, s *server) error {
	var wrong fault.InvalidErrors
	var err error
	in.by, err = in.Body.value.Length()
	wrong.Add(err)
	wrong.Add(in.ofCampaign.check(ctx, s))
	return wrong.Err()
}

func (s *server) moveCampaign(w http.ResponseWriter, r *http.Request, in campaignMove) {
	s.workOnCampaign(w, r, func(ctx context.Context, watcher campaign.Watcher) (message.CampaignSummary, error) {
		if in.Body.value.DryRun {
			return s.Campaigns.DryRun(ctx, s.actingFor(in.meant.Account), in.meant, in.by, watcher)
		}
		return s.Campaigns.Move(ctx, s.actingFor(in.meant.Account), in.meant, in.by, watcher)
	})
}
