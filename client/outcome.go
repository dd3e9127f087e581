package client

import (
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Accepted is the result of a submit: the message is stored and will be sent, even if all
// programs stop now. From DryRun it says what would be accepted.
type Accepted struct {
	ID, User    string
	SendAt      time.Time
	RequestedAt time.Time // the time asked for, if SendAt differs; otherwise zero
	Shifted     bool      // SendAt is the next free time after RequestedAt
	Replayed    bool      // the same message was accepted before
	// Forgotten is set by RecordSent: the message is older than any rule looks back, so it
	// does not count.
	Forgotten bool
}

// Moved is the result of a move or a change.
type Moved struct {
	ID, User    string
	SendAt      time.Time
	MovedFrom   time.Time // zero if it keeps its place
	RequestedAt time.Time // the time asked for, if SendAt differs; otherwise zero
	Shifted     bool      // SendAt is the next free time after RequestedAt
}

// Cancelled is the result of a cancellation.
type Cancelled struct {
	ID, User string
	Replayed bool // it was already cancelled
}

// Retried is the result of retrying a dead letter.
type Retried struct {
	ID, User    string
	SendAt      time.Time // the next free time
	RequestedAt time.Time // the time it was submitted for
}

func acceptedOf(o message.Outcome) Accepted {
	return Accepted{
		ID: o.ID, User: o.User, SendAt: o.SendAt.Time, RequestedAt: o.RequestedAt.Time, Shifted: o.Shifted, Replayed: o.Replayed,
		Forgotten: o.Forgotten,
	}
}

// must returns an error unless the outcome is the success of the call.
func must(o message.Outcome, be string) error {
	if o.Outcome == be {
		return nil
	}
	return &ResponseError{Status: http.StatusOK, Code: o.Code, Detail: "the API answered a success that is not " + be}
}

func refusalOf(o message.Outcome) *Refusal {
	return &Refusal{
		Code: o.Code, Detail: o.Detail, User: o.User, ID: o.ID, SendAt: o.SendAt.Time, RequestedAt: o.RequestedAt.Time,
		Violations: o.Violations, QuietHours: o.QuietHours, Others: o.Others, NextFreeAt: o.NextFreeAt.Time, PreviousFreeAt: o.PreviousFreeAt.Time,
		ResetsAt: o.ResetsAt.Time, RetryAfter: time.Duration(min(max(o.RetryAfterSeconds, 0), int64(longestRetryAfter/time.Second))) * time.Second,
	}
}

func invalidOf(o message.Outcome) *InvalidError {
	return &InvalidError{Code: o.Code, Field: o.Field, Detail: o.Detail}
}
