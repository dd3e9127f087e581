package logs

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// Window is the time in which equal lines are logged once.
	Window = time.Minute
	// MaxKinds is how many kinds of lines with the same sentence are told apart.
	MaxKinds = 16
	// sameBytes is how much of their values equal lines have in common. Errors have addresses and
	// ids behind it.
	sameBytes = 40
	// repeatedKey is the key of the number of lines that were left out.
	repeatedKey = "repeated"
)

// Limiter counts the lines that are left out. It is safe for concurrent use.
type Limiter struct {
	local func() time.Time

	mu    sync.Mutex
	lines map[string]map[string]*window // by sentence and kind
}

// window is the time after a line of one kind.
type window struct {
	began   time.Time
	left    int // out, since then
	last    slog.Record
	handler slog.Handler // of the last one
}

// NewLimiter returns a Limiter by a monotonic clock.
func NewLimiter(local func() time.Time) *Limiter {
	return &Limiter{local: local, lines: make(map[string]map[string]*window)}
}

// Flush logs the lines that were left out in windows that have ended. If a program does not call it,
// the next line of the kind does. If all is set, the program ends, and it ends all windows.
func (l *Limiter) Flush(ctx context.Context, all bool) {
	for _, w := range l.ended(all) {
		_ = w.handler.Handle(ctx, w.last) // a log that can't be written can't report it
	}
}

// ended returns the ended windows in which lines were left out, and begins new ones. It removes the
// others.
func (l *Limiter) ended(all bool) []window {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.local()
	var ended []window
	for sentence, kinds := range l.lines {
		for kind, w := range kinds {
			switch {
			case !all && now.Sub(w.began) < Window:
			case w.left == 0:
				delete(kinds, kind)
			default:
				w.last.Time = now
				w.last.AddAttrs(slog.Int(repeatedKey, w.left))
				ended = append(ended, *w)
				*w = window{began: now}
			}
		}
		if len(kinds) == 0 {
			delete(l.lines, sentence)
		}
	}
	slices.SortFunc(ended, func(a, b window) int { return strings.Compare(a.last.Message, b.last.Message) })
	return ended
}

// take reports whether to log a line, and how many were left out before.
func (l *Limiter) take(h slog.Handler, r slog.Record) (due bool, left int) {
	kind := kindOf(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.local()
	kinds := l.lines[r.Message]
	if kinds == nil {
		kinds = make(map[string]*window)
		l.lines[r.Message] = kinds
	}
	if kinds[kind] == nil && len(kinds) >= MaxKinds {
		kind = "the rest"
	}
	w := kinds[kind]
	if w == nil {
		kinds[kind] = &window{began: now}
		return true, 0
	}
	if now.Sub(w.began) >= Window {
		left = w.left
		*w = window{began: now}
		return true, left
	}
	w.left, w.last, w.handler = w.left+1, r.Clone(), h
	return false, 0
}

// kindOf returns the values that say what failed and why. An error does not count if there is a
// reason.
func kindOf(r slog.Record) string {
	var kind strings.Builder
	reasoned := hasReason(r)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case reasonKey, "account", "address", "channel", "check", "kind", "page", "policy", "queue", "route", "server", "target":
		case "error":
			if reasoned {
				return true
			}
		default:
			return true
		}
		text := a.Value.String()
		kind.WriteString("|" + a.Key + "=" + text[:min(len(text), sameBytes)])
		return true
	})
	return kind.String()
}
