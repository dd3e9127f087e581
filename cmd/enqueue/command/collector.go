package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/message"
)

// collector receives the outcomes of a file: it counts them, writes them to --results, and reports
// invalid lines.
type collector struct {
	reporter

	summary messagefile.Summary
}

// Emit receives the outcome of the next line.
func (c *collector) Emit(o message.Outcome) error {
	if err := c.write(o); err != nil {
		return err
	}
	c.summary.Add(o)
	wrong := 0
	if o.Outcome == message.Invalid || o.Outcome == message.Errored {
		wrong = c.summary.Invalid + c.summary.Errors
	}
	return c.count(o, wrong, "judged")
}

// reporter writes outcomes to --results, and shows the progress.
type reporter struct {
	results  results // nil for none
	progress *progress

	buffer  *bufio.Writer
	encoder *json.Encoder
}

// linesShown is how many invalid lines are printed.
const linesShown = 20

// write writes the outcome of the next line.
func (r *reporter) write(o message.Outcome) error {
	if r.results == nil {
		return nil
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.encoder.Encode(o); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// count counts a line, and prints the first lines that failed. wrong is the number of such lines, 0
// if this one succeeded.
func (r *reporter) count(o message.Outcome, wrong int, done string) error {
	r.progress.add(1)
	switch {
	case wrong == linesShown+1:
		return r.progress.printf("more lines were not %s: see the summary and the file of --results\n", done)
	case wrong > 0 && wrong <= linesShown:
		return r.progress.printf("line %d: %s\n", o.Line, o.Detail)
	default:
		return nil
	}
}

// begin removes the results of an earlier run. It is called with the first new result, so that a
// dry run that fails keeps the old ones.
func (r *reporter) begin() error {
	if r.encoder != nil {
		return nil
	}
	if err := r.results.empty(); err != nil {
		return fmt.Errorf("emptying the file of the results: %w", err)
	}
	r.buffer = bufio.NewWriterSize(r.results, 1<<16)
	r.encoder = json.NewEncoder(r.buffer)
	r.encoder.SetEscapeHTML(false)
	return nil
}

// Flush writes buffered results. There may be none.
func (r *reporter) Flush() error {
	if r.results == nil {
		return nil
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.buffer.Flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// close closes the results and removes the progress bar.
func (r *reporter) close() error {
	r.progress.end()
	if r.results == nil {
		return nil
	}
	var err error
	if r.buffer != nil {
		err = r.Flush()
	}
	if closing := r.results.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("closing the results: %w", closing))
	}
	return err
}
