package api

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// place is the place of a request among those that are being answered.
type place struct {
	among *semaphore.Weighted
	most  int    // places
	what  string // what the places are for, in the plural
	held  bool
}

// take takes the place if one is free.
func (p *place) take() error {
	if p.held = p.among.TryAcquire(1); p.held {
		return nil
	}
	return p.none()
}

// takeAgain waits for a free place until ctx ends. If one is free, it takes that even after
// the end.
func (p *place) takeAgain(ctx context.Context) error {
	if p.held = p.among.TryAcquire(1) || p.among.Acquire(ctx, 1) == nil; p.held {
		return nil
	}
	return p.none()
}

// leave gives the place back, if it is held.
func (p *place) leave() {
	if p.held {
		p.held = false
		p.among.Release(1)
	}
}

func (p *place) none() error {
	return &fault.UnavailableError{
		Detail: fmt.Sprintf("%d %s are being answered, and no more are at a time: try again in a moment", p.most, p.what),
	}
}

// body is the body of a request that has a place. The first read reads ahead, at most most
// bytes, and leaves the place meanwhile: a client that sends its body slowly, or only half
// of it, keeps nobody else from an answer.
type body struct {
	io.ReadCloser

	ctx   context.Context //nolint:containedctx // Read has none
	place *place
	most  int64
	size  int64 // that the client says it has; negative for none

	begun bool
	ahead bytes.Buffer
	err   error // after what was read ahead
}

// mostAtOnce bounds the memory for a body that has not come yet.
const mostAtOnce = 4 << 10

// Read reads the body.
func (b *body) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		b.place.leave()
		b.ahead.Grow(int(min(max(b.size, 0), mostAtOnce)) + bytes.MinRead)
		_, b.err = io.CopyN(&b.ahead, b.ReadCloser, b.most)
		if err := b.place.takeAgain(b.ctx); err != nil {
			b.ahead.Reset()
			b.err = err
		}
	}
	switch {
	case b.ahead.Len() > 0:
		return b.ahead.Read(p) //nolint:wrapcheck // never fails
	case b.err != nil:
		return 0, b.err
	default:
		return b.ReadCloser.Read(p) //nolint:wrapcheck // stands in for the body
	}
}
