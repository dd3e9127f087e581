package dashboard_test

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
	debug.SetGCPercent(200) // the embedded store makes an interpreter for each script
	goleak.VerifyTestMain(m)
}
