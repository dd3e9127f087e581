package client

import "time"

// An Outcome is what the API answers about a message. Submit answers that it is stored and will be
// sent at SendAt, even if all programs stop now, and Shifted if that is the next free time after
// RequestedAt; Move also says MovedFrom, zero if the message keeps its place. Replayed is set of
// what was done before. DryRun says what would be accepted, and RecordSent Forgotten of a message
// that is older than any rule looks back. Of a *Refusal, NextFreeAt and PreviousFreeAt are zero if
// there is none.

func refusalOf(o Outcome) *Refusal {
	return &Refusal{
		Outcome: o, RetryAfter: time.Duration(min(max(o.RetryAfterSeconds, 0), int64(longestRetryAfter/time.Second))) * time.Second,
	}
}

func invalidOf(o Outcome) *InvalidError { return &InvalidError{Outcome: o} }
