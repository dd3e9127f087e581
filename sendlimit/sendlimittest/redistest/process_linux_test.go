package redistest_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// crashEnv makes TestCrashWithAServer crash.
const crashEnv = "SENDLIMITTEST_CRASH"

func TestCrashWithAServer(t *testing.T) {
	if os.Getenv(crashEnv) == "" {
		t.Skip("is run by TestServersDieWithTheTest")
	}
	server, err := redistest.Start(t.Context(), redistest.Options{})
	require.NoError(t, err)
	_, err = os.Stdout.WriteString("\n" + server.Addr + "\n")
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
	select {}
}

func TestServersDieWithTheTest(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	crash := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashWithAServer$", "-test.v=false")
	crash.Env = append(os.Environ(), crashEnv+"=1", "TMPDIR="+t.TempDir())
	printed, err := crash.Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	lines := strings.Fields(string(printed))
	require.NotEmpty(t, lines)
	addr := lines[len(lines)-1]
	require.Contains(t, addr, "127.0.0.1:")
	require.Eventually(t, func() bool {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
		if err != nil {
			return true
		}
		require.NoError(t, conn.Close())
		return false
	}, time.Minute, 10*time.Millisecond, "the server at %s is still there", addr)
}
