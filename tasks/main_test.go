package tasks_test

import (
	"runtime/debug"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	lua "github.com/yuin/gopher-lua"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // of the client library, about every store that a test takes away
	// Each call of a script gets a new Lua state. At its usual size, clearing its memory took a sixth of
	// the processor time. A script that needs more fails with "registry overflow" or "stack overflow".
	lua.RegistrySize, lua.CallStackSize = 1024, 64
	debug.SetGCPercent(400) // stories leave much garbage, and keep little
	goleak.VerifyTestMain(m)
}
