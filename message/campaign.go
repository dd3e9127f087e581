package message

import "time"

// CampaignStatus says how many messages a campaign has.
type CampaignStatus struct {
	Campaign    string         `json:"campaign" doc:"The campaign's name."`
	Account     string         `json:"account,omitempty" doc:"The account whose campaign it is; absent without accounts."`
	PausedSince Time           `json:"paused_since,omitzero" doc:"Since when it is paused; absent if it is not."`
	Messages    int            `json:"messages" doc:"How many messages it has, or with more, how many were counted so far."`
	Statuses    map[string]int `json:"statuses" doc:"How many of them have each status; a status that none has is absent."`
	More        string         `json:"more,omitempty" doc:"Set if only these messages were counted so far. GET with it as the parameter more goes on, and answers with these too."`
}

// CampaignProgressing is the Outcome of a CampaignProgress.
const CampaignProgressing = "progress"

// CampaignProgress says how many messages of a campaign were looked at.
type CampaignProgress struct {
	Outcome string `json:"outcome" doc:"What was done. With refused, invalid and error nothing was done."`
	Done    int    `json:"messages_done" doc:"How many messages were looked at, those of an earlier request included."`
	Total   int    `json:"messages" doc:"How many messages the campaign has; before the first is done, how many were counted so far."`
}

// Values of CampaignSummary.Outcome.
const (
	CampaignCancelled = "campaign_cancelled"
	CampaignMoved     = "campaign_moved"
	CampaignPreviewed = "campaign_previewed" // nothing was done
	CampaignResumed   = "campaign_resumed"
)

// CampaignSummary counts what was done with the messages of a campaign. A run that goes on
// with an earlier one counts what that one did, too.
type CampaignSummary struct {
	Outcome   string         `json:"outcome" doc:"What was done. With refused, invalid and error nothing was done."`
	Campaign  string         `json:"campaign" doc:"The campaign's name."`
	Account   string         `json:"account,omitempty" doc:"The account whose campaign it is; absent without accounts."`
	By        string         `json:"by,omitempty" doc:"The length of time of a move."`
	Messages  int            `json:"messages" doc:"How many messages were looked at."`
	Done      int            `json:"done" doc:"How many were cancelled, moved or resumed, or with preview could be moved."`
	Refused   int            `json:"refused" doc:"How many were refused, and keep their places."`
	RefusedBy map[string]int `json:"refused_by,omitempty" doc:"The refused messages counted by the rule that they would break, or else by the code of the refusal."`
	Gone      int            `json:"gone" doc:"How many were sent, moved or cancelled by somebody else meanwhile."`
	Continued bool           `json:"continued,omitempty" doc:"It went on with an earlier request, whose messages are counted too."`
	Complete  bool           `json:"complete" doc:"False if it stopped early: the same request goes on."`
}

// CampaignMoveDraft is the request to move the messages of a campaign.
type CampaignMoveDraft struct {
	By      string `json:"by" doc:"By how long: 1h, 90m or -30m. A negative length moves to earlier times. At most 8784h, of whole milliseconds."`
	Preview bool   `json:"preview,omitempty" doc:"Only say what the outcome would be."`
}

// Length returns the length of time by which to move. The error is a *fault.InvalidError.
func (d CampaignMoveDraft) Length() (time.Duration, error) {
	by, err := time.ParseDuration(d.By)
	if err != nil {
		return 0, NotAllowed("by", d.By, wantCampaignMove, MaxCampaignMove)
	}
	return by, CheckCampaignMove(by)
}

// MaxCampaignMove is the longest time by which a campaign is moved.
const MaxCampaignMove = 366 * 24 * time.Hour

// CheckCampaignMove returns a *fault.InvalidError for a length of time by which no campaign is
// moved.
func CheckCampaignMove(by time.Duration) error {
	if by == 0 || by.Abs() > MaxCampaignMove || by%time.Millisecond != 0 {
		return NotAllowed("by", by.String(), wantCampaignMove, MaxCampaignMove)
	}
	return nil
}

const wantCampaignMove = "a length of time such as 1h or -30m, of whole milliseconds, at most %s"
