package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
)

// sumUp prints the summary of a file. If the run stopped, it prints why, and the line to continue
// from. It returns the error to end with: stopped, else failed, else a status for lines that were
// not judged or are invalid. diagnose explains an error further.
func (p *program) sumUp(diagnose func(error) error, c *collector, f bulkFlags, stopped, failed error) error {
	halt, _ := errors.AsType[*bulk.StoppedError](stopped)
	if halt != nil {
		c.summary.Errors += halt.Failed
		c.summary.Failure = failureOf(halt.Err)
	}
	out := p.Stdout
	if f.results == standard {
		out = p.Stderr // standard output has the outcomes
	}
	if unfinished, ok := errors.AsType[*bulk.UnfinishedError](stopped); ok {
		return errors.Join(p.unfinished(diagnose, out, unfinished), failed)
	}
	if err := p.printSummary(out, &c.summary); err != nil {
		return err
	}
	switch {
	case halt != nil:
		return errors.Join(p.halted(diagnose, out, halt, f), failed)
	case failed != nil:
		return failed
	case c.summary.Errors > 0:
		return cli.StatusError(cli.StatusUnavailable)
	case c.summary.Invalid > 0:
		return cli.StatusError(cli.StatusInvalid)
	default:
		return nil
	}
}

// failureOf explains briefly why lines have no outcome.
func failureOf(err error) string {
	away, ok := errors.AsType[*fault.UnavailableError](err)
	switch {
	case ok && away.Full:
		return "the store is full"
	case ok && away.Unfit:
		return "the store would not keep them"
	case ok && strings.HasSuffix(away.Detail, strings.TrimPrefix(store.MayBeDone, ": ")):
		return "the store did not confirm them, but may have stored them"
	default:
		return "the store did not accept them"
	}
}

func (p *program) printSummary(w io.Writer, summary *messagefile.Summary) error {
	if p.JSON {
		return cli.Program{Stdout: w}.PrintJSON(summary)
	}
	if err := summary.Print(w, cli.NewPalette(w, p.Getenv)); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if summary.Plan == nil || len(summary.Histogram) == 0 {
		return nil
	}
	if err := (cli.Program{Stdout: w}).Print("\n"); err != nil {
		return err
	}
	return picture.DrawHistogram(w, picture.StyleFor(w, p.Getenv, summary.Plan.Zone), summary.Plan.Buckets())
}

// halted prints why a run stopped, and the line to continue from.
func (p *program) halted(diagnose func(error) error, w io.Writer, halt *bulk.StoppedError, f bulkFlags) error {
	done := message.Accepted
	if f.sent {
		done = message.Recorded
	}
	next := fmt.Sprintf("continue with --from-line %d, or run it again: no line is %s twice", halt.Line, done)
	if f.dryRun {
		next = "the lines before it were judged, and nothing was changed"
	}
	return p.stopped(w, diagnose(halt.Err), message.Outcome{Line: halt.Line}, fmt.Sprintf("stopped at line %d", halt.Line), next)
}

// unfinished prints that a dry run has no result.
func (p *program) unfinished(diagnose func(error) error, w io.Writer, u *bulk.UnfinishedError) error {
	where := fmt.Sprintf("the dry run stopped after %s of %s", cli.Thousands(u.Judged), messagefile.Lines(u.Lines))
	if u.Judged == 0 {
		where = "the dry run stopped after reading " + messagefile.Lines(u.Lines)
	}
	next := "nothing was changed: run it again"
	if _, local := errors.AsType[*fs.PathError](u.Err); local {
		next = "nothing was changed; temporary files are in the folder of TMPDIR"
	}
	return p.stopped(w, diagnose(u.Err), message.Outcome{}, where, next)
}

// stopped prints why a run stopped and what to do next, with --json as an error outcome. It returns
// the error to end with.
func (p *program) stopped(w io.Writer, cause error, o message.Outcome, where, next string) error {
	line, interrupted := o.Line, errors.Is(cause, context.Canceled)
	o.Outcome, o.Detail = message.Errored, "interrupted"
	if !interrupted {
		o = operations.OutcomeOf(cause)
		o.Line = line
	}
	o.Detail = fmt.Sprintf("%s: %s; %s", where, o.Detail, next)
	var err error
	if p.JSON {
		err = cli.Program{Stdout: w}.PrintJSON(o)
	} else {
		err = p.Tell("\n%s %s\n", cli.NewPalette(p.Stderr, p.Getenv).Red("error:"), o.Detail)
	}
	switch {
	case err != nil:
		return err
	case interrupted:
		return cause // the signal decides the exit status
	default:
		return cli.StatusError(cli.ExitCode(cause))
	}
}
