package integration_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"
)

func TestMain(m *testing.M) {
	logging.Disable() // silences the client library about every store that a test stops
	status := m.Run()
	_ = os.RemoveAll(programsFolder.path)
	os.Exit(status)
}
