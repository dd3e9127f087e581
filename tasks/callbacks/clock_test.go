package callbacks_test

import "github.com/sendlimit/sendlimiter/tasks/internal/masterclock"

func newClock() *masterclock.Clocks { return masterclock.New(nil, "") }
