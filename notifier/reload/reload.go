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

	"github.com/sendlimit/sendlimiter/notifier"
)

const (
	// DefaultEvery is the default of Options.Every.
	DefaultEvery = 5 * time.Second
	// maxFile is the most that is read of a file, in bytes. Credentials are far shorter.
	maxFile = 1 << 20
)

// Options configures a Channel. File and Open are required.
type Options struct {
	File string
	// Open opens the channel with the file's content.
	Open func(content []byte) (notifier.Notifier, error)
	// Every is how often the file is read; zero means DefaultEvery.
	Every time.Duration
	// Reloaded is called after the channel was opened again, and with an error if that failed.
	// The error does not show the content. Nil means nobody is told.
	Reloaded func(error)
}

// Channel is a Notifier that follows its file. It also is a Checker, a Prober and an
// Identifier: if what Open returns is not, it finds nothing wrong.
type Channel struct {
	options Options
	current atomic.Pointer[notifier.Notifier]
	content []byte // of the file, as last seen

	stop   context.CancelFunc
	follow sync.WaitGroup
}

// New opens the channel, and follows the file until Close. The error is that of reading the
// file or of Open.
func New(ctx context.Context, o Options) (*Channel, error) {
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
	c := &Channel{options: o, content: content}
	c.current.Store(&opened)
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.follow.Go(func() { c.watch(ctx) })
	return c, nil
}

// watch opens the channel again after each change of the file, until ctx ends.
func (c *Channel) watch(ctx context.Context) {
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
			// A file is replaced by removing and writing it, so it may be away for a moment.
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

func (c *Channel) tell(err error) {
	if c.options.Reloaded != nil {
		c.options.Reloaded(err)
	}
}

func (c *Channel) reopen(content []byte) error {
	opened, err := c.options.Open(content)
	if err != nil {
		return fmt.Errorf("the new content can't be used, the former is kept: %w", err)
	}
	former := c.current.Swap(&opened)
	return closed(*former)
}

// Read returns the content of a file with credentials, of at most 1 MiB. Its error does not show
// the content.
func Read(name string) ([]byte, error) {
	file, err := os.Open(name) //nolint:gosec // the operator names the file
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

// Notify delivers n through the present channel.
func (c *Channel) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	return (*c.current.Load()).Notify(ctx, n)
}

// Check checks n as the present channel does.
func (c *Channel) Check(n notifier.Notification) error {
	if checker, ok := (*c.current.Load()).(notifier.Checker); ok {
		return checker.Check(n)
	}
	return nil
}

// Probe probes the present channel.
func (c *Channel) Probe(ctx context.Context) notifier.Result {
	if prober, ok := (*c.current.Load()).(notifier.Prober); ok {
		return prober.Probe(ctx)
	}
	return notifier.Result{Status: notifier.Delivered}
}

// Identity returns the identity of the present channel.
func (c *Channel) Identity() string {
	if identifier, ok := (*c.current.Load()).(notifier.Identifier); ok {
		return identifier.Identity()
	}
	return ""
}

// Close stops following the file, and closes the present channel.
func (c *Channel) Close() error {
	c.stop()
	c.follow.Wait()
	return closed(*c.current.Load())
}

func closed(n notifier.Notifier) error {
	closer, ok := n.(io.Closer)
	if !ok {
		return nil
	}
	if err := closer.Close(); err != nil {
		return errors.Join(errors.New("closing the former channel"), err)
	}
	return nil
}
