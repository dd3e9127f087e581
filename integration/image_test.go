package integration_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// The images have the version that they are built for in their labels, and in their programs. What
// they are built on is named by its version.
func TestImagesTellTheirVersion(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	source := readPage(t, "Dockerfile")
	for _, label := range []string{"version=${VERSION}", "revision=${REVISION}"} {
		require.Contains(t, source, "org.opencontainers.image."+label)
		require.Contains(t, readPage(t, "goreleaser.yaml"), "org.opencontainers.image."+strings.Split(label, "=")[0]+": ")
	}
	for _, file := range []string{"Dockerfile", "deploy/release.Dockerfile", "docker-compose.yml"} {
		for _, base := range regexp.MustCompile(`(?m)^\s*(?:FROM|image:) (\S+)`).FindAllStringSubmatch(readPage(t, file), -1) {
			require.Regexp(t, `^scratch$|^sendlimit:local$|:\d+\.\d+\.\d+`, base[1], file)
		}
	}
	flags := regexp.MustCompile(`-ldflags="([^"]+)"`).FindStringSubmatch(source)
	require.NotNil(t, flags)
	program := filepath.Join(t.TempDir(), "sendlimit")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", "..", "-trimpath", "-ldflags="+strings.ReplaceAll(flags[1], "${VERSION}", "v9.8.7"), "-o", program, "./cmd/sendlimit")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	said, err := exec.CommandContext(t.Context(), program, "version").Output()
	require.NoError(t, err)
	require.Equal(t, "sendlimit version v9.8.7\n", string(said))
}
