package queue

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// logger passes asynq's log to ours. asynq repeats a warning several times a second while
// the store is away; logger passes it on once in an outage.
type logger struct {
	logger *slog.Logger
	local  func() time.Time

	mu   sync.Mutex
	last map[string]time.Time // when asynq said it, by the first words, which name the failure
}

const (
	// outageEnds is how long asynq is silent about a failure after its outage. Two
	// warnings are the same if their first sameBytes are: the error with its addresses
	// follows.
	outageEnds   = time.Minute
	sameBytes    = 40
	mostWarnings = 100
)

func newLogger(to *slog.Logger, local func() time.Time) *logger {
	return &logger{logger: to, local: local, last: make(map[string]time.Time)}
}

// due reports whether to log a warning, and notes when it was said.
func (l *logger) due(words string) bool {
	words = words[:min(len(words), sameBytes)]
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.local()
	last, known := l.last[words]
	if !known && len(l.last) == mostWarnings { // some words contain ids
		clear(l.last)
	}
	l.last[words] = now
	return !known || now.Sub(last) >= outageEnds
}

func (l *logger) warn(log func(string, ...any), args []any) {
	// The code is asynq's own, and says nothing about the failure.
	if words := strings.ReplaceAll(fmt.Sprint(args...), "INTERNAL_ERROR: ", ""); l.due(words) {
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
