package queue

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func TestTheQueueLogsFailuresWithoutItsCodes(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Failed to forward scheduled tasks: INTERNAL_ERROR: INTERNAL_ERROR: redis eval error: EOF": "Failed to forward scheduled tasks: redis eval error: EOF",
		"Dequeue error: UNKNOWN: redis eval error: EOF":                                            "Dequeue error: redis eval error: EOF",
	} {
		var log bytes.Buffer
		to := logger{slog.New(slog.NewTextHandler(&log, nil))}
		to.Error(said)
		to.Warn(said)
		require.Regexp(t, `level=ERROR msg="the queue had a failure" error="`+want+`"\n.*level=WARN msg="the queue had a failure" error="`+want, log.String())
	}
}

// A logger of a backend recognises failures of the store by the error, and must not take a
// panic for one.
func TestTheErrorOfAPanicIsNotOneOfTheStore(t *testing.T) {
	t.Parallel()
	for said, ofStore := range map[string]bool{
		"Dequeue error: UNKNOWN: EOF": true,
		"recovering from panic. See the stack trace below for details:\ngoroutine 1": false,
	} {
		var logged record
		logger{slog.New(&logged)}.Error(said)
		_, is := errors.AsType[*fault.UnavailableError](logged.err)
		require.Equal(t, ofStore, is, said)
	}
}

// record is a handler that keeps the last error.
type record struct{ err error }

func (r *record) Enabled(context.Context, slog.Level) bool { return true }

func (r *record) Handle(_ context.Context, given slog.Record) error {
	given.Attrs(func(a slog.Attr) bool {
		r.err, _ = a.Value.Any().(error)
		return true
	})
	return nil
}

func (r *record) WithAttrs([]slog.Attr) slog.Handler { return r }

func (r *record) WithGroup(string) slog.Handler { return r }
