package logline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Notifier writes notifications and notices to a writer. Create one with New.
type Notifier struct {
	w   io.Writer
	now func() time.Time
	// turn has one token while nobody writes. It is not a mutex because the wait must end with the
	// context.
	turn chan struct{}
	// torn reports whether the last write ended within a line. The owner of the token uses it.
	torn bool
}

// New returns a Notifier that writes to w, one line at a time with one Write each. now is the
// clock. Both are required.
func New(w io.Writer, now func() time.Time) (*Notifier, error) {
	if w == nil || now == nil {
		return nil, errors.New("a log channel needs a writer and a clock")
	}
	n := &Notifier{w: w, now: now, turn: make(chan struct{}, 1)}
	n.turn <- struct{}{}
	return n, nil
}

type line struct {
	notifier.Payload
	DeliveredAt string `json:"delivered_at"` // in notifier.TimeLayout
}

// Notify writes the line of n. A failed write is a Retry. A write that does not end, such as to a
// full pipe, can't be cancelled: when ctx ends, Notify returns an uncertain result, and later lines
// wait for that write.
func (l *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	return l.deliver(ctx, func(at string) any { return line{notifier.NewPayload(n), at} })
}

// deliver writes a line with the time of delivery.
func (l *Notifier) deliver(ctx context.Context, line func(at string) any) notifier.Result {
	if ctx.Err() != nil {
		return unsent(ctx)
	}
	select {
	case <-l.turn:
	case <-ctx.Done():
		return unsent(ctx)
	}

	var text bytes.Buffer
	if l.torn {
		text.WriteByte('\n')
	}
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false) // a person may read it
	if err := lines.Encode(line(l.now().UTC().Format(notifier.TimeLayout))); err != nil {
		l.turn <- struct{}{}
		return notifier.Result{
			Status: notifier.Permanent,
			Reason: notifier.ReasonRejected,
			Err:    fmt.Errorf("encode a delivery line: %w", err),
		}
	}

	written := make(chan error, 1)
	go func() {
		written <- l.write(text.Bytes())
		l.turn <- struct{}{}
	}()
	select {
	case err := <-written:
		if err != nil {
			return notifier.Result{
				Status: notifier.Retry,
				Reason: notifier.ReasonUnavailable,
				Err:    err,
			}
		}
		return notifier.Result{Status: notifier.Delivered}
	case <-ctx.Done():
		return notifier.Result{
			Status: notifier.Retry,
			Reason: notifier.ReasonTimeout,
			Err:    fmt.Errorf("a delivery line is not written yet: %w", ctx.Err()),
		}
	}
}

// write writes a line. The caller has the token.
func (l *Notifier) write(text []byte) error {
	written, err := l.w.Write(text)
	if err == nil && written < len(text) {
		err = io.ErrShortWrite
	}
	if written > 0 {
		l.torn = written < len(text)
	}
	if err != nil {
		return fmt.Errorf("write a delivery line: %w", err)
	}
	return nil
}

func unsent(ctx context.Context) notifier.Result {
	return notifier.Result{
		Status: notifier.Retry,
		Reason: notifier.ReasonUnreachable,
		Err:    fmt.Errorf("a delivery line had to wait for others: %w", ctx.Err()),
	}
}
