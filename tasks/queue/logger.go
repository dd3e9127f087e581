package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// logger passes asynq's log to ours. asynq warns of panics, and of failures of the store: in an
// outage several times a second. Their error is a *fault.UnavailableError, by which a
// backend.OutageWatch recognizes them.
type logger struct{ logger *slog.Logger }

// withoutCodes removes asynq's codes, which say nothing about a failure.
func withoutCodes(text string) string {
	for _, code := range []string{
		"UNKNOWN", "INTERNAL_ERROR", "NOT_FOUND", "FAILED_PRECONDITION", "ALREADY_EXISTS", "ERROR_CODE_UNSPECIFIED",
	} {
		text = strings.ReplaceAll(text, code+": ", "")
	}
	return text
}

func failure(args []any) error {
	text := withoutCodes(fmt.Sprint(args...))
	if strings.HasPrefix(text, "recovering from panic") {
		return errors.New(text)
	}
	return &fault.UnavailableError{Internal: true, Detail: text}
}

// Debug implements asynq.Logger.
func (l logger) Debug(args ...any) { l.logger.Debug("the queue", "did", fmt.Sprint(args...)) }

// Info implements asynq.Logger.
func (l logger) Info(args ...any) { l.logger.Info("the queue", "did", fmt.Sprint(args...)) }

// Warn implements asynq.Logger.
func (l logger) Warn(args ...any) { l.logger.Warn("the queue had a failure", "error", failure(args)) }

// Error implements asynq.Logger.
func (l logger) Error(args ...any) { l.logger.Error("the queue had a failure", "error", failure(args)) }

// Fatal implements asynq.Logger.
func (l logger) Fatal(args ...any) { l.Error(args...) }
