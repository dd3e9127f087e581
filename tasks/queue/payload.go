package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/sendlimit/sendlimiter/sendlimit/notices"
)

// settleWithin bounds one try to settle.
const SettleWithin = 2 * time.Second

// storePause is between two tries at a store that is away.
const StorePause = 500 * time.Millisecond

// againError sends a task back to the queue to come again after a while. It is
// not a failure and uses up no retry.
type AgainError struct {
	After time.Duration
	Cause error
}

func (e *AgainError) Error() string { return fmt.Sprintf("again in %s: %v", e.After, e.Cause) }

func (e *AgainError) Unwrap() error { return e.Cause }

var ErrStopping = errors.New("this worker stops")

var ErrNewer = errors.New("a newer program wrote the task")

// newerAfter is when a task that a newer program wrote comes again: to it, with
// luck.
const NewerAfter = 5 * time.Second

// userOf reads what a payload of any version says of its user. Of a quota alert
// it is the user that is in the notice's id.
func UserOf(payload []byte) Payload {
	var p struct {
		Payload

		Notice string `json:"notice"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return Payload{} // not one of ours
	}
	if notice, ok := notices.ParseID(p.Notice); ok && notice.Kind == notices.UserQuota {
		p.User = notice.Subject
	}
	return p.Payload
}

// forwardEvery is how often asynq looks for tasks that are due, fetchEvery
// how often for work when it found none.
const ForwardEvery = 200 * time.Millisecond

const FetchEvery = 100 * time.Millisecond

// errorPause is when a task comes again that failed otherwise than by the store
// being away: a script of the store does not work, say.
const ErrorPause = 2 * time.Second

func ComeAgain(_ int, err error, _ *asynq.Task) time.Duration {
	if again, ok := errors.AsType[*AgainError](err); ok {
		return again.After
	}
	return ErrorPause
}
