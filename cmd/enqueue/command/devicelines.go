package command

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

const (
	linesAtOnce = 1000 // in memory
	callsAtOnce = 64
)

// deviceImportOptions configure importDevices.
type deviceImportOptions struct {
	// Add registers a device of a user.
	Add func(user string, d client.DeviceDraft) (client.DeviceChange, error)
	// Read is told how many more lines are read, before they are registered.
	Read func(lines int)
	// Emit gets the outcome of each line, in order. An error ends the import.
	Emit func(message.Outcome) error
}

// deviceImportStopped is returned when an import ended early: what is before Line is registered.
type deviceImportStopped struct {
	Line int
	Err  error
}

// Error returns what Err says.
func (e *deviceImportStopped) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *deviceImportStopped) Unwrap() error { return e.Err }

// importDevices registers the devices of a file. A line that is not a device, or that the API
// refuses, has an outcome that says so. Importing a file again changes nothing. The error is a
// *deviceImportStopped if the API could not be used.
func importDevices(rows *input.Rows, o deviceImportOptions) error {
	for {
		lines, end := readDevices(rows)
		if o.Read != nil {
			o.Read(len(lines))
		}
		outcomes, failed := registerDevices(lines, o)
		for _, outcome := range outcomes {
			if err := o.Emit(outcome); err != nil {
				return err
			}
		}
		switch {
		case failed != nil:
			return &deviceImportStopped{Line: lines[len(outcomes)].number, Err: failed}
		case errors.Is(end, io.EOF):
			return nil
		case end != nil:
			return end
		}
	}
}

// readDevices returns the next lines, and the error with which the file ends.
func readDevices(rows *input.Rows) (lines []deviceLine, end error) {
	for len(lines) < linesAtOnce {
		row, err := rows.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, parseDevice(row))
	}
	return lines, nil
}

// registerDevices registers the devices of lines, those of a user one after the other. It returns the
// outcomes up to the first line that was not judged, and that failure.
func registerDevices(lines []deviceLine, o deviceImportOptions) ([]message.Outcome, error) {
	byUser := make(map[string][]int)
	for i, l := range lines {
		byUser[l.user] = append(byUser[l.user], i)
	}
	outcomes, failures := make([]message.Outcome, len(lines)), make([]error, len(lines))
	var calls errgroup.Group
	calls.SetLimit(callsAtOnce)
	for _, own := range byUser {
		calls.Go(func() error {
			for n, i := range own {
				if lines[i].invalid != nil {
					outcomes[i] = lines[i].refusal()
					continue
				}
				if outcomes[i], failures[i] = registerDevice(lines[i], o); failures[i] != nil {
					for _, later := range own[n:] {
						failures[later] = failures[i]
					}
					return nil // the others' failures count, too
				}
			}
			return nil
		})
	}
	_ = calls.Wait() // no call returns an error
	for i, err := range failures {
		if err != nil {
			return outcomes[:i], err
		}
	}
	return outcomes, nil
}

// refusal returns the outcome of a line that is not a device.
func (l deviceLine) refusal() message.Outcome {
	o := message.OutcomeOf(l.invalid)
	o.Line, o.User = l.number, l.user
	return o
}

// registerDevice returns the outcome of a line with a device, or an error if it was not judged.
func registerDevice(l deviceLine, o deviceImportOptions) (message.Outcome, error) {
	change, err := o.Add(l.user, l.device)
	outcome := message.Outcome{Outcome: change.Outcome, ID: change.Device.ID}
	if err != nil {
		outcome = operations.OutcomeOf(err)
		if outcome.Outcome == message.Errored || outcome.Code == fault.CodeRateLimited {
			return outcome, operations.Answered(err)
		}
		outcome.ID = l.device.ID
	}
	outcome.Line, outcome.User = l.number, l.user
	return outcome, nil
}
