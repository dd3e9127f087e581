package command

import (
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

const (
	linesAtOnce = 1000 // in memory
	callsAtOnce = 64
)

// all registers the devices of a file. A line that is not a device, or that the API refuses, has an
// outcome that says so. Importing a file again changes nothing. The error is a *bulk.StoppedError if
// the API could not be used: what is before its line is registered.
func (r *importRun) all(rows *input.Rows) error {
	for {
		lines, end := readDevices(rows)
		r.progress.linesRead.Add(int64(len(lines)))
		outcomes, failed := r.register(lines)
		for _, outcome := range outcomes {
			if err := r.emit(outcome); err != nil {
				return err
			}
		}
		switch {
		case failed != nil:
			return &bulk.StoppedError{Line: lines[len(outcomes)].number, Err: failed}
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

// register registers the devices of lines, those of a user one after the other. It returns the
// outcomes up to the first line that was not judged, and that failure.
func (r *importRun) register(lines []deviceLine) ([]message.Outcome, error) {
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
				if outcomes[i], failures[i] = r.registerOne(lines[i]); failures[i] != nil {
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

// registerOne returns the outcome of a line with a device, or an error if it was not judged.
func (r *importRun) registerOne(l deviceLine) (message.Outcome, error) {
	change, err := r.add(l.user, l.device)
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
