package api

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// slot is the slot of a request that is being answered. The zero value is none.
type slot struct {
	among *slots
	of    holder
	held  bool
}

// take takes a free slot for a holder.
func (p *slot) take(among *slots, of holder) error {
	if err := among.take(of); err != nil {
		return err
	}
	p.among, p.of, p.held = among, of, true
	return nil
}

// takeAgain waits for a slot like the former until ctx ends. It takes a free slot even after the
// end.
func (p *slot) takeAgain(ctx context.Context) error {
	if p.among == nil {
		return nil
	}
	err := p.among.await(ctx, p.of)
	p.held = err == nil
	return err
}

// leave gives the slot back, if it is held.
func (p *slot) leave() {
	if p.held {
		p.held = false
		p.among.leave(p.of)
	}
}

// body is the body of a request that has a slot. The first read reads ahead, at most most bytes,
// and gives up the slot meanwhile, so that slow or incomplete bodies do not block other requests.
// It holds a slot for bodies instead.
type body struct {
	io.ReadCloser

	ctx    context.Context //nolint:fields // Read has none
	slot   *slot
	coming *slots // for bodies
	most   int64
	size   int64 // that the client says it has; negative for none

	begun bool
	ahead bytes.Buffer
	err   error // after what was read ahead
}

// maxAtOnce bounds the memory for a body that has not arrived yet.
const maxAtOnce = 4 << 10

// Ahead returns the text that was read ahead and not read since, and whether it is the whole rest.
// The text belongs to the body.
func (b *body) Ahead() (text []byte, whole bool) {
	if !b.begun {
		b.begun = true
		b.err = b.readAhead()
	}
	return b.ahead.Bytes(), errors.Is(b.err, io.EOF)
}

// Read reads the body.
func (b *body) Read(p []byte) (int, error) {
	_, _ = b.Ahead()
	switch {
	case b.ahead.Len() > 0:
		return b.ahead.Read(p)
	case b.err != nil:
		return 0, b.err
	default:
		return b.ReadCloser.Read(p)
	}
}

// readAhead reads as much as fits in memory. An error comes after the text that was read.
func (b *body) readAhead() error {
	var sending slot
	if err := sending.take(b.coming, b.slot.of); err != nil {
		return err
	}
	defer sending.leave()
	b.slot.leave()
	b.ahead.Grow(int(min(max(b.size, 0), maxAtOnce)) + bytes.MinRead)
	_, broken := io.CopyN(&b.ahead, b.ReadCloser, b.most)
	if err := b.slot.takeAgain(b.ctx); err != nil {
		b.ahead.Reset()
		return err
	}
	return broken
}
