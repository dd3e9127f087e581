package queue

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// queueLogger gives asynq's own words to our log. What asynq says again and
// again, as it does several times a second while the store is away, is given
// once in a while.
type queueLogger struct {
	logger *slog.Logger
	local  func() time.Time

	mu   sync.Mutex
	said map[string]time.Time // by the first words, which differ by what failed
}

const (
	// repeatAfter is when the same is said again, saidWords how many bytes of it
	// make it the same: what follows is the error, with addresses.
	repeatAfter = time.Minute
	saidWords   = 40
	mostSaid    = 100
)

func NewLogger(logger *slog.Logger, local func() time.Time) *queueLogger {
	return &queueLogger{logger: logger, local: local, said: make(map[string]time.Time)}
}

// fresh reports whether it is time to say something.
func (l *queueLogger) fresh(words string) bool {
	words = words[:min(len(words), saidWords)]
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.local()
	if last, known := l.said[words]; known && now.Sub(last) < repeatAfter {
		return false
	}
	if len(l.said) == mostSaid { // there are ids in some words
		clear(l.said)
	}
	l.said[words] = now
	return true
}

func (l *queueLogger) log(say func(string, ...any), args []any) {
	if words := fmt.Sprint(args...); l.fresh(words) {
		say("queue", "message", words)
	}
}

// Debug implements asynq.Logger.
func (l *queueLogger) Debug(args ...any) { l.logger.Debug("queue", "message", fmt.Sprint(args...)) }

// Info implements asynq.Logger.
func (l *queueLogger) Info(args ...any) { l.logger.Info("queue", "message", fmt.Sprint(args...)) }

// Warn implements asynq.Logger.
func (l *queueLogger) Warn(args ...any) { l.log(l.logger.Warn, args) }

// Error implements asynq.Logger.
func (l *queueLogger) Error(args ...any) { l.log(l.logger.Error, args) }

// Fatal implements asynq.Logger.
func (l *queueLogger) Fatal(args ...any) { l.logger.Error("queue", "message", fmt.Sprint(args...)) }
