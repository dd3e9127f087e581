package queue

import (
	"errors"
	"fmt"
	"time"
)

// ErrStopping is the cause of an AgainError if the worker stops.
var ErrStopping = errors.New("this worker stops")

// AgainError sends a task back to the queue, to be retried later. It uses up none of asynq's retries.
type AgainError struct {
	After time.Duration
	Cause error
}

// Error says when the task is retried, and why.
func (e *AgainError) Error() string { return fmt.Sprintf("again in %s: %v", e.After, e.Cause) }

// Unwrap returns the cause.
func (e *AgainError) Unwrap() error { return e.Cause }

// NotOursError makes the server log and drop a task with an invalid payload. A retry would fail too.
type NotOursError struct{ Cause error }

// Error says what is wrong with the payload.
func (e *NotOursError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *NotOursError) Unwrap() error { return e.Cause }

// errNewer sends back the task of a newer program, which may get it next.
var errNewer = &AgainError{After: 5 * time.Second, Cause: errors.New("a newer program wrote the task")}

// errorPause is the delay of a task after any other error, such as a failed script.
const errorPause = 2 * time.Second

// comeAgain returns the delay of a task after an error.
func comeAgain(err error) time.Duration {
	if again, ok := errors.AsType[*AgainError](err); ok {
		return again.After
	}
	return errorPause
}
