package reload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// DefaultEvery is the default of Options.Every.
	DefaultEvery = 5 * time.Second
	// maxFile is the maximum size of a file, in bytes. Credentials are far shorter.
	maxFile = 1 << 20
)

// Of configures a Channel or an Announcer. File and Open are required.
type Of[T any] struct {
	File string
	// Open opens the channel with the file's content.
	Open func(content []byte) (T, error)
	// Every is how often the file is read; zero means DefaultEvery.
	Every time.Duration
	// Reloaded is called after the channel was reopened, with an error if that failed. The error
	// does not show the content. It may be nil.
	Reloaded func(error)
}

// follower keeps a T up to date with a file.
type follower[T any] struct {
	options Of[T]
	current atomic.Pointer[T]
	content []byte // of the file, as last seen

	stop   context.CancelFunc
	follow sync.WaitGroup
}

func begin[T any](ctx context.Context, o Of[T]) (*follower[T], error) {
	if o.Every <= 0 {
		o.Every = DefaultEvery
	}
	content, err := Read(o.File)
	if err != nil {
		return nil, err
	}
	opened, err := o.Open(content)
	if err != nil {
		return nil, err
	}
	c := &follower[T]{options: o, content: content}
	c.current.Store(&opened)
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.follow.Go(func() { c.watch(ctx) })
	return c, nil
}

// watch reopens the channel after each change of the file, until ctx ends.
func (c *follower[T]) watch(ctx context.Context) {
	every := time.NewTicker(c.options.Every)
	defer every.Stop()
	missing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		content, err := Read(c.options.File)
		if err != nil {
			// Replacing a file may remove it for a moment.
			if missing {
				continue
			}
			missing = true
			c.tell(err)
			continue
		}
		missing = false
		if bytes.Equal(content, c.content) {
			continue
		}
		c.content = content
		c.tell(c.reopen(content))
	}
}

func (c *follower[T]) tell(err error) {
	if c.options.Reloaded != nil {
		c.options.Reloaded(err)
	}
}

func (c *follower[T]) reopen(content []byte) error {
	opened, err := c.options.Open(content)
	if err != nil {
		return fmt.Errorf("the new content can't be used, the former is kept: %w", err)
	}
	former := c.current.Swap(&opened)
	return closed(*former)
}

// Read returns a file with credentials, of at most 1 MiB. Its error does not show the content.
func Read(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("reading credentials: %s has more than %d bytes", name, maxFile)
	}
	return content, nil
}

// Close stops following the file, and closes the current channel.
func (c *follower[T]) Close() error {
	c.stop()
	c.follow.Wait()
	return closed(*c.current.Load())
}

func closed(channel any) error {
	closer, ok := channel.(io.Closer)
	if !ok {
		return nil
	}
	if err := closer.Close(); err != nil {
		return errors.Join(errors.New("closing the former channel"), err)
	}
	return nil
}
