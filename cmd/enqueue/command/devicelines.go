package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/device"
	"github.com/sendlimit/sendlimiter/tasks/input"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

const (
	linesAtOnce = 1000 // in memory
	callsAtOnce = 64
)

// deviceImportOptions configure importDevices.
type deviceImportOptions struct {
	Account string       // that registers the devices; "" for none
	Check   device.Check // of each device; nil for none
	// Room returns an error if the store has no room for devices of size bytes; nil asks nobody.
	Room func(ctx context.Context, size int) error
	// Most returns how many devices the account may have; 0 is no limit. Nil is none.
	Most func(context.Context) (int64, error)
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

// importDevices registers the devices of a file. A line that is not a device, or that the store
// refuses, has an outcome that says so. Importing a file again changes nothing. The error is a
// *deviceImportStopped if the store was away.
func importDevices(ctx context.Context, store *devices.Store, rows *input.Rows, o deviceImportOptions) error {
	for {
		lines, end := readDevices(rows, o)
		if o.Read != nil {
			o.Read(len(lines))
		}
		outcomes, failed := registerDevices(ctx, store, lines, o)
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
func readDevices(rows *input.Rows, o deviceImportOptions) (lines []deviceLine, end error) {
	for len(lines) < linesAtOnce {
		row, err := rows.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, parseDevice(row, o))
	}
	return lines, nil
}

// registerDevices registers the devices of lines, those of a user one after the other. It returns the
// outcomes up to the first line that the store did not answer, and that failure.
func registerDevices(ctx context.Context, store *devices.Store, lines []deviceLine, o deviceImportOptions) ([]message.Outcome, error) {
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
				if outcomes[i], failures[i] = registerDevice(ctx, store, lines[i], o); failures[i] != nil {
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

// registerDevice returns the outcome of a line with a device, or an error if the store did not answer.
func registerDevice(ctx context.Context, store *devices.Store, l deviceLine, o deviceImportOptions) (message.Outcome, error) {
	if o.Room != nil {
		if err := o.Room(ctx, len(l.device.Address)); err != nil {
			return message.Outcome{}, err
		}
	}
	var most int64
	if o.Most != nil {
		var err error
		if most, err = o.Most(ctx); err != nil {
			return message.Outcome{}, err
		}
	}
	stored, change, err := store.Add(ctx, l.user, l.device, most)
	if err == nil {
		return message.Outcome{Outcome: string(change), Line: l.number, User: l.user, ID: stored.ID}, nil
	}
	coded, known := errors.AsType[interface {
		error
		Code() fault.Code
	}](err)
	if !known || coded.Code() == fault.CodeUnavailable || coded.Code() == fault.CodeStoreFull {
		return message.Outcome{}, err
	}
	return message.Outcome{
		Outcome: message.Refused, Line: l.number, User: l.user, ID: l.device.ID, Code: coded.Code(), Detail: err.Error(),
	}, nil
}
