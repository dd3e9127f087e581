package client

import (
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/message"
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

func acceptedOf(o message.Outcome) Accepted {
	return Accepted{
		ID: o.ID, User: o.User, SendAt: o.SendAt.Time, RequestedAt: o.RequestedAt.Time, Shifted: o.Shifted, Replayed: o.Replayed,
	}
}

// must returns an error unless the outcome is the one that a success of the
// call has.
func must(o message.Outcome, be string) error {
	if o.Outcome == be {
		return nil
	}
	return &ResponseError{Status: http.StatusOK, Code: o.Code, Detail: "the API answered a success that is not " + be}
}

func refusalOf(o message.Outcome) *Refusal {
	return &Refusal{
		Code: o.Code, Detail: o.Detail, User: o.User, ID: o.ID, SendAt: o.SendAt.Time, RequestedAt: o.RequestedAt.Time,
		Violations: o.Violations, QuietHours: o.QuietHours, NextFreeAt: o.NextFreeAt.Time, PreviousFreeAt: o.PreviousFreeAt.Time,
		ResetsAt: o.ResetsAt.Time, RetryAfter: time.Duration(min(max(o.RetryAfterSeconds, 0), int64(mostRetryAfter/time.Second))) * time.Second,
	}
}

func invalidOf(o message.Outcome) *InvalidError {
	return &InvalidError{Code: o.Code, Field: o.Field, Detail: o.Detail}
}
