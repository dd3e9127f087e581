package userdata

import (
	"github.com/sendlimit/sendlimiter/message"
)

// Document is all data of a user. Times have the format of outcomes.
type Document struct {
	User string `json:"user"`
	// DryRun is the token of the dry run whose copies these are.
	DryRun    string             `json:"dry_run,omitempty"`
	Timeline  []message.Conflict `json:"timeline"`            // by time, then id
	Uncounted []message.Conflict `json:"uncounted,omitempty"` // places that no rule counts; by time, then id
	// Messages have their content as long as that is kept. They are ordered by their ids.
	Messages  []message.Status   `json:"messages"`
	Settings  map[string]string  `json:"settings,omitempty"`
	Devices   []message.Device   `json:"devices,omitempty"` // with their addresses, in the order in which they were added
	Alerted   []AlertedDay       `json:"alerted,omitempty"`
	LateMark  message.Time       `json:"late_mark,omitzero"` // earlier places in the timeline have ended
	Ended     []message.Conflict `json:"ended,omitempty"`    // messages that gave their place back; by time, then id
	Dead      []DeadEntry        `json:"dead_letters,omitempty"`
	WatchList []WatchEntry       `json:"watch_list,omitempty"`
	Tasks     []TaskEntry        `json:"tasks,omitempty"`
	// Quota alerts: those to the user's contact, and those in digests for others.
	Alerts   []Alert         `json:"alerts,omitempty"`
	Gathered []GatheredAlert `json:"gathered,omitempty"`

	// Events are the events of the messages that were written and are still kept.
	Events []Event `json:"events,omitempty"`
	// Changes are the changes of operators about the user, the oldest first, without
	// the operators' keys and addresses.
	Changes []Change `json:"changes,omitempty"`

	DryRuns []Document `json:"dry_runs,omitempty"` // left by dry runs that died
}

// newDocument returns the empty document of a user, or of a dry run's copies.
func newDocument(user, run string) *Document {
	return &Document{User: user, DryRun: run, Timeline: []message.Conflict{}, Messages: []message.Status{}}
}

// AlertedDay is a day with an alert about the user's quota.
type AlertedDay struct {
	Since     message.Time `json:"since"`
	Threshold int          `json:"threshold"` // the highest one, percent
}

// DeadEntry is an entry of the dead letters.
type DeadEntry struct {
	ID      string       `json:"id"`
	EndedAt message.Time `json:"ended_at"`
}

// WatchEntry is an entry of the watch list.
type WatchEntry struct {
	ID         string       `json:"id"`
	Generation string       `json:"generation"`
	LookAt     message.Time `json:"look_at"`
}

// TaskEntry is a task in the queue; its own id is the generation. The task of a quota alert
// has no ID.
type TaskEntry struct {
	ID         string       `json:"id,omitempty"`
	Generation string       `json:"generation"`
	State      string       `json:"state"` // in asynq's words
	Due        message.Time `json:"due,omitzero"`
}

// Alert is a quota alert about the user.
type Alert struct {
	Alert      string       `json:"alert"` // its id
	Since      message.Time `json:"since"` // the start of its day
	Threshold  int          `json:"threshold"`
	Used       int64        `json:"used,omitempty"`
	Limit      int64        `json:"limit,omitempty"`
	Status     string       `json:"status"` // waiting, sending, delivered, failed or dropped
	Attempts   int          `json:"attempts,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	ProviderID string       `json:"provider_id,omitempty"`
	LookAt     message.Time `json:"look_at,omitzero"` // when a worker looks after it
	EndedAt    message.Time `json:"ended_at,omitzero"`
}

// GatheredAlert is an alert about the user that is sent to somebody else in an hourly digest.
type GatheredAlert struct {
	Policy     string       `json:"policy"`
	Since      message.Time `json:"since"` // the start of the day
	Threshold  int          `json:"threshold"`
	Used       int64        `json:"used"`
	Limit      int64        `json:"limit"`
	GatheredAt message.Time `json:"gathered_at"`
}

// Event is a change of a message.
type Event struct {
	Type         string            `json:"type"`
	ID           string            `json:"id"` // of the message
	Account      string            `json:"account,omitempty"`
	At           message.Time      `json:"at"`
	SendAt       message.Time      `json:"send_at"`
	FormerSendAt message.Time      `json:"former_send_at,omitzero"`
	Reason       string            `json:"reason,omitempty"`
	Attempt      int               `json:"attempt,omitempty"`
	ProviderID   string            `json:"provider_id,omitempty"`
	Campaign     string            `json:"campaign,omitempty"`
	Metadata     map[string]string `json:"metadata,omitempty"`
}

// Change is a change of an operator about the user, see audit.Entry.
type Change struct {
	At      message.Time `json:"at"`
	Account string       `json:"account,omitempty"`
	Action  string       `json:"action"`
	ID      string       `json:"id,omitempty"` // of the message
	Object  string       `json:"object,omitempty"`
	Detail  string       `json:"detail,omitempty"`
	Outcome string       `json:"outcome,omitempty"`
	Code    string       `json:"code,omitempty"`
	Answer  string       `json:"answer,omitempty"`
	EndedAt message.Time `json:"ended_at,omitzero"`
}

// Empty reports whether there is no data of the user.
func (d Document) Empty() bool { return len(d.lists()) == 0 && len(d.DryRuns) == 0 }

// Conceal removes contents and metadata of messages, and addresses of devices, of accounts
// that the caller may not see. It returns how many messages, events and devices still have some.
func (d *Document) Conceal(sees func(account string) bool) (shown int) {
	for i := range d.Messages {
		m := &d.Messages[i]
		switch {
		case !sees(m.Account):
			m.Content, m.Metadata = message.Content{}, nil
		case m.HasContent() || len(m.Metadata) > 0:
			shown++
		}
	}
	for i := range d.Events {
		e := &d.Events[i]
		switch {
		case !sees(e.Account):
			e.Metadata = nil
		case len(e.Metadata) > 0:
			shown++
		}
	}
	for i := range d.Devices {
		if !sees(d.Devices[i].Account) {
			d.Devices[i].Address = ""
		} else {
			shown++
		}
	}
	for i := range d.DryRuns {
		shown += d.DryRuns[i].Conceal(sees)
	}
	return shown
}
