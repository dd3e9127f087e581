package tasks_test

import (
	"runtime/debug"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // of the client library, about every store that a test takes away
	redistest.SmallLuaStates()
	debug.SetGCPercent(400) // stories leave much garbage, and keep little
	goleak.VerifyTestMain(m)
}
