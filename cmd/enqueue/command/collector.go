package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/message"
)

// collector receives the outcomes of a file: it counts them, writes them to --results, and
// reports lines that are not judged.
type collector struct {
	summary  messagefile.Summary
	results  results // nil for none
	progress *progress

	buffer  *bufio.Writer
	encoder *json.Encoder
}

// linesShown is how many lines that are not judged are printed.
const linesShown = 20

// Emit receives the outcome of the next line.
func (c *collector) Emit(o message.Outcome) error {
	if c.results != nil {
		if err := c.write(o); err != nil {
			return err
		}
	}
	c.summary.Add(o)
	c.progress.add(1)
	if o.Outcome != message.Invalid && o.Outcome != message.Errored {
		return nil
	}
	switch n := c.summary.Invalid + c.summary.Errors; {
	case n <= linesShown:
		return c.progress.printf("line %d: %s\n", o.Line, o.Detail)
	case n == linesShown+1:
		return c.progress.printf("further lines that were not judged are counted, and in the file that --results names\n")
	default:
		return nil
	}
}

func (c *collector) write(o message.Outcome) error {
	if err := c.begin(); err != nil {
		return err
	}
	if err := c.encoder.Encode(o); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// begin removes the results of an earlier run. It is called with the first new result, so
// that a dry run that fails keeps the old ones.
func (c *collector) begin() error {
	if c.encoder != nil {
		return nil
	}
	if err := c.results.empty(); err != nil {
		return fmt.Errorf("emptying the file of the results: %w", err)
	}
	c.buffer = bufio.NewWriterSize(c.results, 1<<16)
	c.encoder = json.NewEncoder(c.buffer)
	c.encoder.SetEscapeHTML(false)
	return nil
}

// Flush writes buffered results. There may be none.
func (c *collector) Flush() error {
	if c.results == nil {
		return nil
	}
	if err := c.begin(); err != nil {
		return err
	}
	if err := c.buffer.Flush(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// close closes the results and removes the progress bar.
func (c *collector) close() error {
	c.progress.end()
	if c.results == nil {
		return nil
	}
	var err error
	if c.buffer != nil {
		err = c.Flush()
	}
	if closing := c.results.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("closing the results: %w", closing))
	}
	return err
}
