package queue

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// logger passes asynq's log to ours. asynq repeats a warning several times a second while
// the store is away; logger repeats it once a minute.
type logger struct {
	logger *slog.Logger
	local  func() time.Time

	mu     sync.Mutex
	logged map[string]time.Time // by the first words, which name the failure
}

const (
	// repeatAfter is after how long a warning is logged again. Two warnings are the same
	// if their first sameBytes are: the error with its addresses follows.
	repeatAfter  = time.Minute
	sameBytes    = 40
	mostWarnings = 100
)

func newLogger(to *slog.Logger, local func() time.Time) *logger {
	return &logger{logger: to, local: local, logged: make(map[string]time.Time)}
}

// due reports whether to log a warning, and notes that it is logged.
func (l *logger) due(words string) bool {
	words = words[:min(len(words), sameBytes)]
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.local()
	if last, known := l.logged[words]; known && now.Sub(last) < repeatAfter {
		return false
	}
	if len(l.logged) == mostWarnings { // some words contain ids
		clear(l.logged)
	}
	l.logged[words] = now
	return true
}

func (l *logger) warn(log func(string, ...any), args []any) {
	if words := fmt.Sprint(args...); l.due(words) {
		log("queue", "message", words)
	}
}

// Debug implements asynq.Logger.
func (l *logger) Debug(args ...any) { l.logger.Debug("queue", "message", fmt.Sprint(args...)) }

// Info implements asynq.Logger.
func (l *logger) Info(args ...any) { l.logger.Info("queue", "message", fmt.Sprint(args...)) }

// Warn implements asynq.Logger.
func (l *logger) Warn(args ...any) { l.warn(l.logger.Warn, args) }

// Error implements asynq.Logger.
func (l *logger) Error(args ...any) { l.warn(l.logger.Error, args) }

// Fatal implements asynq.Logger.
func (l *logger) Fatal(args ...any) { l.logger.Error("queue", "message", fmt.Sprint(args...)) }
