package callbacks_test

import "github.com/sendlimit/sendlimiter/tasks/internal/storeclock"

func newClock() *storeclock.Clocks { return storeclock.NewClocks(nil, "") }
