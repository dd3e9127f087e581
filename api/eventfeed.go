package api

import (
	"context"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/tasks/callbacks"
)

// feedEvery is how often a followed log is polled for new events.
const feedEvery = 250 * time.Millisecond

// feeds tell streams about new events. All streams of a log share a feed. Without streams nothing
// is polled.
type feeds struct {
	callbacks *callbacks.Registry

	mu    sync.Mutex
	byLog map[string]*feed
}

type feed struct {
	streams int
	end     context.CancelFunc

	mu      sync.Mutex
	changed chan struct{} // closed at the next change
}

// join returns the feed of a log. Leave it afterwards.
func (f *feeds) join(log string) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byLog == nil {
		f.byLog = make(map[string]*feed)
	}
	one := f.byLog[log]
	if one == nil {
		ctx, cancel := context.WithCancel(context.Background()) //nolint:names // it outlives this request, if others follow it
		one = &feed{end: cancel, changed: make(chan struct{})}
		f.byLog[log] = one
		go one.watch(ctx, f.callbacks, log)
	}
	one.streams++
	return one
}

func (f *feeds) leave(log string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.byLog[log]
	if one.streams--; one.streams == 0 {
		one.end()
		delete(f.byLog, log)
	}
}

// changes returns a channel that is closed at the next change.
func (f *feed) changes() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// watch polls the last event of a log until ctx ends.
func (f *feed) watch(ctx context.Context, registry *callbacks.Registry, log string) {
	ticker := time.NewTicker(feedEvery)
	defer ticker.Stop()
	known := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		latest, err := registry.Log().Latest(ctx, log)
		if err != nil || latest == known {
			continue // while the store is away there is nothing to tell
		}
		known = latest
		f.mu.Lock()
		close(f.changed)
		f.changed = make(chan struct{})
		f.mu.Unlock()
	}
}
