package message

import "time"

// CampaignStatus says how many messages a campaign has.
type CampaignStatus struct {
	Campaign    string         `json:"campaign"`
	Account     string         `json:"account,omitempty"`
	PausedSince Time           `json:"paused_since,omitzero"`
	Messages    int            `json:"messages"`
	Statuses    map[string]int `json:"statuses"` // by Status.Status
	// More is set if these are only the messages that were counted so far: a count with it goes
	// on, and has these too.
	More string `json:"more,omitempty"`
}

// CampaignProgressing is the Outcome of a CampaignProgress.
const CampaignProgressing = "progress"

// CampaignProgress says how many messages of a campaign were looked at.
type CampaignProgress struct {
	Outcome string `json:"outcome"`
	Done    int    `json:"messages_done"` // those of an earlier run included
	Total   int    `json:"messages"`
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
	Outcome  string `json:"outcome"`
	Campaign string `json:"campaign"`
	Account  string `json:"account,omitempty"`
	By       string `json:"by,omitempty"` // of a move and its preview
	Messages int    `json:"messages"`     // that were looked at
	Done     int    `json:"done"`         // cancelled, moved, resumed, or to be moved
	Refused  int    `json:"refused"`      // these keep their places
	// RefusedBy counts the refused messages by the rule that they would break, as in
	// Violation, or else by the code of the refusal.
	RefusedBy map[string]int `json:"refused_by,omitempty"`
	Gone      int            `json:"gone"`                // sent, moved or cancelled by somebody else meanwhile
	Continued bool           `json:"continued,omitempty"` // an earlier run was gone on with
	// Complete is false if the run stopped early: the same request goes on.
	Complete bool `json:"complete"`
}

// CampaignMoveDraft is the request to move the messages of a campaign.
type CampaignMoveDraft struct {
	By      string `json:"by"`
	Preview bool   `json:"preview,omitempty"`
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
