package dashboard_test

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // of the client library, about every store that a test takes away
	goleak.VerifyTestMain(m)
}
