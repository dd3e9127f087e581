package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/pushtarget"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// validChannel is the config.Check that the push target makes a channel.
func validChannel(c config.Config) *fault.InvalidError {
	channel, err := openChannel(c, io.Discard)
	if err == nil {
		err = closeChannel(channel)
	}
	problem, _ := errors.AsType[*fault.InvalidError](err)
	return problem
}

// openChannel returns what delivers to the push target; lines of the target
// "log:" go to log. The error is a *sendlimit.InvalidError where a setting is
// to blame.
func openChannel(c config.Config, log io.Writer) (notifier.Notifier, error) {
	channel, err := pushtarget.Open(c.PushTarget(), pushtarget.Options{
		Log: log, Now: time.Now, Secret: string(c.PushSecret), Timeout: c.PushTimeout,
	})
	if problem, ok := errors.AsType[*notifier.InvalidError](err); ok {
		return nil, &fault.InvalidError{Field: problem.Field, Value: problem.Value, Want: problem.Want}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the push target: %w", err)
	}
	return channel, nil
}

// closeChannel closes the connections of a channel that has some.
func closeChannel(channel notifier.Notifier) error {
	if closer, ok := channel.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			return fmt.Errorf("closing the push target: %w", err)
		}
	}
	return nil
}
