package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

func (p *program) deviceImport() *cobra.Command {
	var f fileFlags
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Register the devices of a file",
		Long: `Register the devices of a file, or of standard input with "-". The file has one
JSON object a line (NDJSON), or is CSV with the names of the fields in its first
line:

  user, channel, token, subscription, id, app, locale

Case, spaces and hyphens in these names do not matter, and fields may be
separated by commas, semicolons or tabs. --column gives a field the column of
another name. token is for fcm and apns. subscription is for webpush: the
browser's subscription as JSON. The file may be gzipped. A text of more than 200
times the file's size requires --force. An invalid line is reported and skipped;
the exit status is then 2. Running a file again changes nothing.`,
		Example: `  sendlimit device import devices.csv
  sendlimit device import devices.ndjson.gz --results outcomes.ndjson
  export-devices | sendlimit device import - --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.file = args[0]
			return p.importDevices(cmd, f)
		},
	}
	f.register(cmd.Flags(), "`action` for other columns of CSV: refuse the file, or ignore them")
	cli.Words(cmd.Flags(), "other-columns", string(input.RefuseColumns), string(input.IgnoreColumns))
	return cmd
}

func (p *program) importDevices(cmd *cobra.Command, f fileFlags) error {
	options, err := f.options()
	if err != nil {
		return err
	}
	file, err := p.openInput(f.file)
	if err != nil {
		return err
	}
	defer file.Close()
	rows, err := openRows(file, f.force, options)
	if err != nil {
		return fmt.Errorf("reading %s: %w", f.file, err)
	}
	return p.With(cmd, func(ctx context.Context, c *client.Client) error {
		results, err := p.openResults(f.results, file)
		if err != nil {
			return err
		}
		run := &importRun{
			reporter: reporter{results: results, progress: p.startProgress(file, "")},
			add:      func(user string, d client.DeviceDraft) (client.DeviceChange, error) { return c.AddDevice(ctx, user, d) },
		}
		stopped := run.all(rows)
		return p.endImport(f, run, stopped, run.close())
	})
}

func openRows(file io.Reader, trusted bool, o input.Options) (*input.Rows, error) {
	text, err := messagefile.Unzip(file, trusted)
	if err != nil {
		return nil, err
	}
	known, required := deviceColumns()
	return input.NewRows(text, o, known, required)
}

// endImport prints the summary of an import, and why it stopped. It returns the error to end with.
func (p *program) endImport(f fileFlags, run *importRun, stopped, failed error) error {
	out := p.Stdout
	if f.results == standard {
		out = p.Stderr // standard output has the outcomes
	}
	run.summary.Moved = int(run.moved.Load())
	if err := p.printImport(out, run.summary); err != nil {
		return err
	}
	halt, halted := errors.AsType[*bulk.StoppedError](stopped)
	switch {
	case halted:
		const next = "run it again: no device is registered twice"
		return errors.Join(p.stopped(out, halt.Err, message.Outcome{Line: halt.Line}, fmt.Sprintf("stopped at line %d", halt.Line), next), failed)
	case stopped != nil || failed != nil:
		return errors.Join(stopped, failed)
	case run.summary.Invalid > 0:
		return cli.StatusError(cli.StatusInvalid)
	case run.summary.Refused > 0:
		return cli.StatusError(cli.StatusRefused)
	default:
		return nil
	}
}

// importSummary counts the lines of an import by their outcomes.
type importSummary struct {
	Outcome   string `json:"outcome"` // imported
	Lines     int    `json:"lines"`
	Added     int    `json:"added"`
	Replaced  int    `json:"replaced"`
	Unchanged int    `json:"unchanged"`
	Refused   int    `json:"refused"`
	Invalid   int    `json:"invalid"`
	Moved     int    `json:"moved,omitempty"`   // of those registered, how many had another user until now
	Trimmed   int    `json:"trimmed,omitempty"` // values that had white space at their ends
}

func (p *program) printImport(w io.Writer, s importSummary) error {
	s.Outcome = "imported"
	if p.JSON {
		return cli.Program{Stdout: w}.PrintJSON(s)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s read\n", messagefile.Lines(s.Lines))
	for _, part := range []struct {
		count int
		what  string
	}{{s.Added, "added"}, {s.Replaced, "replaced"}, {s.Unchanged, "unchanged"}, {s.Refused, "refused"}, {s.Invalid, "invalid"}} {
		if part.count > 0 {
			fmt.Fprintf(&text, "  %-9s  %s\n", part.what, cli.Thousands(part.count))
		}
	}
	if s.Moved > 0 {
		fmt.Fprintf(&text, "  %s had another user until now\n", message.Count(s.Moved, "device"))
	}
	if s.Trimmed > 0 {
		fmt.Fprintf(&text, "  %s\n", messagefile.TrimmedNote(s.Trimmed))
	}
	return cli.Program{Stdout: w}.Print(text.String())
}

// importRun registers the devices of a file.
type importRun struct {
	reporter

	summary importSummary
	moved   atomic.Int64
	add     func(user string, d client.DeviceDraft) (client.DeviceChange, error)
}

// emit counts the outcome of the next line, and reports it.
func (r *importRun) emit(o message.Outcome) error {
	if err := r.write(o); err != nil {
		return err
	}
	r.summary.Lines++
	switch o.Outcome {
	case message.DeviceAdded:
		r.summary.Added++
	case message.DeviceReplaced:
		r.summary.Replaced++
	case message.DeviceUnchanged:
		r.summary.Unchanged++
	case message.Refused:
		r.summary.Refused++
	default:
		r.summary.Invalid++
	}
	wrong := 0
	if o.Detail != "" {
		wrong = r.summary.Invalid + r.summary.Refused
	}
	return r.count(o, wrong, "registered")
}

const (
	linesAtOnce = 1000 // in memory
	callsAtOnce = 64
)

// all registers the devices of a file. A line that is not a device, or that the API refuses, gets
// an outcome that says so. Importing a file again changes nothing. The error is a
// *bulk.StoppedError if the API could not be used: the lines before its line are registered.
func (r *importRun) all(rows *input.Rows) error {
	for {
		lines, end := readDevices(rows)
		r.summary.Trimmed = rows.Trimmed()
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

// readDevices returns the next lines, and the error that ends the file.
func readDevices(rows *input.Rows) (lines []deviceLine, end error) {
	for len(lines) < linesAtOnce {
		row, err := rows.Next()
		if err != nil {
			return lines, err
		}
		l := parseDevice(row)
		if wrong := rows.CheckFilled(l.user); wrong != nil && l.invalid == nil {
			l.invalid = wrong
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// register registers the devices of lines, a user's one after the other, and all in order if several
// users have the same address. It returns the
// outcomes up to the first line that was not judged, and that failure.
func (r *importRun) register(lines []deviceLine) ([]message.Outcome, error) {
	together, owners := make(map[string][]int), make(map[string]string)
	key := func(l deviceLine) string { return l.user }
	for _, l := range lines {
		address := strings.ToLower(l.device.Token) + fmt.Sprint(l.device.Subscription)
		if owner, known := owners[address]; known && owner != l.user && l.invalid == nil {
			key = func(deviceLine) string { return "" } // it moves, to the user of the last line
		}
		owners[address] = l.user
	}
	for i, l := range lines {
		together[key(l)] = append(together[key(l)], i)
	}
	outcomes, failures := make([]message.Outcome, len(lines)), make([]error, len(lines))
	var calls errgroup.Group
	calls.SetLimit(callsAtOnce)
	for _, own := range together {
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
	if change.MovedFrom > 0 {
		r.moved.Add(1)
	}
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
