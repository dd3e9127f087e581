package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// readme returns the README, whose commands, pictures and examples must be true.
func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	return string(text)
}

// fenced returns the content of the only block of that kind in a section.
func fenced(t *testing.T, section, kind string) string {
	t.Helper()
	_, text, found := strings.Cut(readme(t), "\n## "+section+"\n")
	require.True(t, found, section)
	text, _, _ = strings.Cut(text, "\n## ")
	parts := strings.Split(text, "\n```"+kind+"\n")
	require.Len(t, parts, 2, "one block of %s under %s", kind, section)
	content, _, closed := strings.Cut(parts[1], "\n```\n")
	require.True(t, closed)
	return content + "\n"
}

func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	worker := p.worker(t, nil)
	worker.delivers(t)
	store := []string{"REDIS_URL=redis://" + worker.logged(t, "embedded store", "address")}

	commands := strings.Split(strings.TrimSpace(fenced(t, "Programs", "sh")), "\n")
	require.GreaterOrEqual(t, len(commands), 3)
	for _, line := range commands {
		name, arguments, found := strings.Cut(strings.TrimPrefix(line, "go run ./cmd/"), " ")
		require.True(t, found, line)
		done := p.command(t, name, store, words(arguments))
		require.Zero(t, done.status, "%s\n%s%s", line, done.stdout, done.stderr)
		require.NotEmpty(t, done.stdout)
	}
}

// The commands about devices are lines of a shell.
func TestReadmeDevices(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	worker := p.worker(t, nil)
	worker.delivers(t)
	script := strings.ReplaceAll(fenced(t, "Pushes to phones and browsers", "sh"), "go run ./cmd/enqueue", filepath.Join(p.folder, "enqueue"))
	shell := exec.CommandContext(t.Context(), "sh", "-ec", script)
	shell.Env = []string{"PATH=" + os.Getenv("PATH"), "REDIS_URL=redis://" + worker.logged(t, "embedded store", "address")}
	said, err := shell.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Contains(t, string(said), "phone")
	require.NotContains(t, string(said), "APA91b", "a token is a secret")
}

// words splits the arguments of a command line; some are in double quotes.
func words(arguments string) []string {
	var all []string
	for i, part := range strings.Split(arguments, `"`) {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

func TestReadmeRefusal(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	worker := p.worker(t, nil)
	worker.delivers(t)
	environ := []string{"LANG=C.UTF-8", "REDIS_URL=redis://" + worker.logged(t, "embedded store", "address")}

	picture, coming := onADayToCome(t, fenced(t, "A refusal", "console"))

	command, want, found := strings.Cut(picture, "\n")
	require.True(t, found)
	arguments, found := strings.CutPrefix(strings.ReplaceAll(command, "'", `"`), "$ enqueue ")
	require.True(t, found)
	first := p.enqueue(t, environ, "push", "--user", "alice", "--id", "table", "--at", coming+"T11:11:11Z", "--title", "Your table is ready")
	require.Zero(t, first.status, first.stderr)
	refused := p.enqueue(t, environ, words(arguments)...)
	require.Equal(t, 3, refused.status, refused.stderr)
	require.Equal(t, want, refused.stdout)
}

// onADayToCome replaces the day of a text by the day after tomorrow.
func onADayToCome(t *testing.T, text string) (moved, day string) {
	t.Helper()
	day = time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)
	return onADay(t, text, day), day
}

// onADay replaces the day of a text.
func onADay(t *testing.T, text, day string) string {
	t.Helper()
	written := regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindString(text)
	require.NotEmpty(t, written)
	return strings.ReplaceAll(text, written, day)
}

func TestReadmeExample(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	for _, want := range []string{
		"reserved; hand it to your queue for ",
		"reminder-1 is reserved for another time: Move changes it\n", // 48 hours from then
	} {
		require.Contains(t, runExample(t, "As a library", "127.0.0.1:6379", client.Options().Addr), want)
	}
}

// runExample runs the Go program of a section with another address, and returns its
// output.
func runExample(t *testing.T, section, address, instead string) string {
	t.Helper()
	code := fenced(t, section, "go")
	require.Contains(t, code, address)
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(code, address, instead, 1)), 0o600))

	output, err := exec.CommandContext(t.Context(), "go", "run", file).CombinedOutput()
	require.NoError(t, err, string(output))

	formatted, err := exec.CommandContext(t.Context(), "gofmt", "-l", file).CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(formatted))
	return string(output)
}

func TestReadmeNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	text := readme(t)
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	for _, target := range regexp.MustCompile("(?m)(?:^    |`)make ([a-z]+)").FindAllStringSubmatch(text, -1) {
		require.Regexp(t, "(?m)^"+target[1]+":", string(makefile))
	}
	for _, link := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(link[1], "https://") {
			require.FileExists(t, filepath.Join("..", link[1]))
		}
	}
	for _, folder := range regexp.MustCompile(`(?m)(?:go run \./|^    )((?:cmd|sendlimit)/[a-z/]+|api|client)\b`).FindAllStringSubmatch(text, -1) {
		require.DirExists(t, filepath.Join("..", folder[1]))
	}
}
