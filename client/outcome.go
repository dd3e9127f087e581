package client

import (
	"net/http"
	"time"
)

// Accepted says that a message will be sent, even if everything stops right
// now. DryRun has nothing accepted and says what would be.
type Accepted struct {
	ID, User    string
	SendAt      time.Time
	RequestedAt time.Time // what was asked for, where SendAt differs; otherwise zero
	Shifted     bool      // SendAt is the next free time after RequestedAt
	Replayed    bool      // the same message was accepted before
}

// Moved says that a message has another send time.
type Moved struct {
	ID, User    string
	SendAt      time.Time
	MovedFrom   time.Time
	RequestedAt time.Time // what was asked for, where SendAt differs; otherwise zero
}

// Cancelled says that a message is not sent.
type Cancelled struct {
	ID, User string
	Replayed bool // it was cancelled before
}

// Retried says that a dead letter is sent after all.
type Retried struct {
	ID, User    string
	SendAt      time.Time // the next time that is free
	RequestedAt time.Time // what it was submitted for
}

// The outcomes that the API tells.
const (
	outcomeAccepted  = "accepted"
	outcomeCancelled = "cancelled"
	outcomeMoved     = "moved"
	outcomeRetried   = "retried"
	outcomePurged    = "purged"
	outcomeRefused   = "refused"
	outcomeInvalid   = "invalid"
)

// outcome is the API's answer about one message, and what a problem says beside
// its own members.
type outcome struct {
	Outcome        string      `json:"outcome"`
	Line           int         `json:"line"`
	Code           Code        `json:"code"`
	Field          string      `json:"field"`
	ID             string      `json:"id"`
	User           string      `json:"user"`
	SendAt         time.Time   `json:"send_at"`
	RequestedAt    time.Time   `json:"requested_at"`
	MovedFrom      time.Time   `json:"moved_from"`
	Shifted        bool        `json:"shifted"`
	Replayed       bool        `json:"replayed"`
	Detail         string      `json:"detail"`
	Violations     []Violation `json:"violations"`
	QuietHours     *QuietHours `json:"quiet_hours"`
	NextFreeAt     time.Time   `json:"next_free_at"`
	PreviousFreeAt time.Time   `json:"previous_free_at"`
	ResetsAt       time.Time   `json:"resets_at"`
	// RetryAfter is in seconds, and beside ResetsAt.
	RetryAfter int64 `json:"retry_after_seconds"`
}

func (o outcome) accepted() Accepted {
	return Accepted{
		ID: o.ID, User: o.User, SendAt: o.SendAt, RequestedAt: o.RequestedAt, Shifted: o.Shifted, Replayed: o.Replayed,
	}
}

// must returns an error unless the outcome is the one that a success of the
// call has.
func (o outcome) must(be string) error {
	if o.Outcome == be {
		return nil
	}
	return &ResponseError{Status: http.StatusOK, Code: o.Code, Detail: "the API answered a success that is not " + be}
}

func (o outcome) refusal() *Refusal {
	return &Refusal{
		Code: o.Code, Detail: o.Detail, User: o.User, ID: o.ID, SendAt: o.SendAt, RequestedAt: o.RequestedAt,
		Violations: o.Violations, QuietHours: o.QuietHours, NextFreeAt: o.NextFreeAt, PreviousFreeAt: o.PreviousFreeAt,
		ResetsAt: o.ResetsAt, RetryAfter: time.Duration(min(max(o.RetryAfter, 0), int64(mostRetryAfter/time.Second))) * time.Second,
	}
}

func (o outcome) invalid() *InvalidError {
	return &InvalidError{Code: o.Code, Field: o.Field, Detail: o.Detail}
}
