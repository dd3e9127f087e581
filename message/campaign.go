package message

import "time"

// CampaignStatus says how many messages a campaign has.
type CampaignStatus struct {
	Campaign    string         `json:"campaign" doc:"The campaign's name."`
	Account     string         `json:"account,omitempty" doc:"The campaign's account; absent without accounts."`
	PausedSince Time           `json:"paused_since,omitzero" doc:"Since when it is paused; absent if it is not."`
	EndedAt     Time           `json:"ended_at,omitzero" doc:"When it was cancelled: it accepts no messages. Absent if it was not, and after a reopen."`
	Messages    int            `json:"messages" doc:"The number of messages; with more set, the number counted so far."`
	Statuses    map[string]int `json:"statuses" doc:"The number of messages by status. A status without messages is absent."`
	More        string         `json:"more,omitempty" doc:"Set if the count is not complete. Send it as the parameter more to continue: the next answer includes these messages."`
}

// CampaignProgressing is the Outcome of a CampaignProgress.
const CampaignProgressing = "progress"

// CampaignProgress says how many messages of a campaign are processed.
type CampaignProgress struct {
	Outcome string `json:"outcome" doc:"What was done. With refused, invalid and error nothing was done."`
	Done    int    `json:"messages_done" doc:"Messages that were processed, including those of an earlier request."`
	Total   int    `json:"messages" doc:"Messages of the campaign; until the first one is processed, the number counted so far."`
}

// Values of CampaignSummary.Outcome.
const (
	CampaignCancelled = "campaign_cancelled"
	CampaignMoved     = "campaign_moved"
	CampaignDryRun    = "campaign_dry_run" // nothing was done
	CampaignResumed   = "campaign_resumed"
)

// CampaignSummary counts the processed messages of a campaign. A run that continues an earlier one
// includes its figures.
type CampaignSummary struct {
	Outcome   string         `json:"outcome" doc:"What was done. With refused, invalid and error nothing was done."`
	Campaign  string         `json:"campaign" doc:"The campaign's name."`
	Account   string         `json:"account,omitempty" doc:"The campaign's account; absent without accounts."`
	By        string         `json:"by,omitempty" doc:"By how long the messages were moved."`
	Messages  int            `json:"messages" doc:"Messages that were processed."`
	Done      int            `json:"done" doc:"Messages that were cancelled, moved or resumed; in a dry run, those that could be moved."`
	Refused   int            `json:"refused" doc:"Messages that were refused, and keep their places."`
	RefusedBy map[string]int `json:"refused_by,omitempty" doc:"Refused messages by the rule that they would break, or by the code of the refusal."`
	Gone      int            `json:"gone" doc:"Messages that somebody else sent, moved or cancelled meanwhile."`
	Continued bool           `json:"continued,omitempty" doc:"The run continued an earlier request, and includes its figures."`
	Complete  bool           `json:"complete" doc:"False if the run stopped early: send the same request again to continue."`
}

// CampaignMoveDraft is the request to move the messages of a campaign.
type CampaignMoveDraft struct {
	By     string `json:"by" doc:"By how long: 1h, 90m or -30m. A negative length moves to earlier times. At most 8784h, of whole milliseconds."`
	DryRun bool   `json:"dry_run,omitempty" doc:"A dry run: only report what the outcome would be."`
}

// Length returns the length of the move. The error is a *fault.InvalidError.
func (d CampaignMoveDraft) Length() (time.Duration, error) {
	by, err := time.ParseDuration(d.By)
	if err != nil {
		return 0, NotAllowed("by", d.By, wantCampaignMove, MaxCampaignMove)
	}
	return by, CheckCampaignMove(by)
}

// MaxCampaignMove is the maximum length of a move.
const MaxCampaignMove = 366 * 24 * time.Hour

// CheckCampaignMove returns a *fault.InvalidError if a campaign can't be moved by this length.
func CheckCampaignMove(by time.Duration) error {
	if by == 0 || by.Abs() > MaxCampaignMove || by%time.Millisecond != 0 {
		return NotAllowed("by", by.String(), wantCampaignMove, MaxCampaignMove)
	}
	return nil
}

const wantCampaignMove = "a length of time such as 1h or -30m, of whole milliseconds, at most %s"
