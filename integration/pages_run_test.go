package integration_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// commandsOf says how the commands of a page are run: those of all its sh blocks, in order, by one
// shell, in an empty folder, without settings and without a worker. The page has to start what it
// needs and to write what it reads.
type commandsOf struct {
	after string   // commands that run at the end, to check what those of the page did
	says  []string // what they print, in this order

	// serves has the blocks of one line that run until they are stopped.
	serves map[string]serving
	// shown has the first lines of blocks that are not run, and why.
	shown map[string]string
}

// serving says when the next block follows: once this one has printed some words. It is a worker,
// which needs the port of the worker before it, unless it runs beside one.
type serving struct {
	prints string
	beside bool
	stops  bool // it stops the worker, and runs beside none
}

// redisOfPages is the Redis that pages use.
const redisOfPages = "redis://127.0.0.1:6379"

// Every command of the pages for users is run, or is one of those that are only shown.
func TestCommandsOfPages(t *testing.T) {
	t.Parallel()
	p := pagesPrograms(t)
	stories := pageStories(t)
	for _, page := range pagesOf(t) {
		story, told := stories[page]
		delete(stories, page)
		blocks := slices.DeleteFunc(blocksOf(t, page), func(b block) bool { return b.kind != "sh" })
		if len(blocks) == 0 {
			require.False(t, told, "%s has no commands", page)
			continue
		}
		require.True(t, told, "%s: say in pageStories how its commands are run", page)
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			p.tell(t, story, blocks)
		})
	}
	require.Empty(t, stories, "there are no such pages")
}

// tell runs the commands of a page.
func (p programs) tell(t *testing.T, story commandsOf, blocks []block) {
	t.Helper()
	folder, address := t.TempDir(), freeAddress(t)
	for _, there := range []string{"cmd", "examples", "sendlimit"} { // of a clone
		from, err := filepath.Abs(filepath.Join("..", there))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(from, filepath.Join(folder, there)))
	}
	script := strings.NewReplacer("127.0.0.1:8080", address, "127.0.0.1:9000", freeAddress(t), "127.0.0.1:9100", freeAddress(t),
		"6390", strings.TrimPrefix(freeAddress(t), "127.0.0.1:")).
		Replace(scriptOf(t, story, blocks))
	if strings.Contains(script, redisOfPages) {
		script = strings.ReplaceAll(script, redisOfPages, redistest.Shared(t).URL())
	}
	if strings.Contains(script, "redis-server ") {
		needProgram(t, "redis-server")
		needProgram(t, "redis-cli")
	}
	shell := exec.CommandContext(t.Context(), "sh", "-eu")
	shell.Stdin = strings.NewReader(script)
	shell.Dir = folder
	shell.Env = []string{
		"PATH=" + p.folder + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + folder, "LANG=C.UTF-8", "USER=reader",
		"SENDLIMIT_LISTEN=" + address, // for 127.0.0.1:8080, which another test may have
	}
	// What serves may outlive the shell, so both write to a file and are of one group.
	said, err := os.Create(filepath.Join(folder, "said"))
	require.NoError(t, err)
	defer func() { require.NoError(t, said.Close()) }()
	shell.Stdout, shell.Stderr = said, said
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, shell.Start())
	defer func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }() // none may be left
	ended := shell.Wait()
	output, err := os.ReadFile(said.Name())
	require.NoError(t, err)
	require.NoError(t, ended, "%s\n\n%s", script, output)
	rest := string(output)
	for _, words := range story.says {
		_, after, found := strings.Cut(rest, words)
		require.True(t, found, "%q is missing in\n%s\nof\n%s", words, rest, output)
		rest = after
	}
}

// scriptOf makes a script of the blocks of a page. One that serves runs in the background, as in
// a terminal of its own. A worker stops the one before it if the page tells the reader to.
func scriptOf(t *testing.T, story commandsOf, blocks []block) string {
	t.Helper()
	known := make(map[string]bool)
	var lines []string
	works := false
	for _, b := range blocks {
		first := b.first()
		known[first] = true
		service, serves := story.serves[first]
		switch {
		case story.shown[first] != "":
		case serves:
			require.Equal(t, first+"\n", b.text, "what serves is one line")
			if works && (!service.beside || service.stops) {
				if !service.stops {
					require.Regexp(t, `(?i)\bstop\b`, b.prose, "say that the worker before %q has to be stopped", first)
				}
				lines = append(lines, "kill $worker; wait $worker || true")
				works = false
			}
			lines = append(lines, "(exec env "+first+") >serving 2>&1 &",
				await("grep -q '"+service.prints+"' serving")+" || { cat serving; exit 1; }", "mv serving served-$!")
			if !service.beside && !service.stops {
				works = true
				lines = append(lines, "worker=$!")
			}
		default:
			lines = append(lines, b.text)
		}
	}
	for _, first := range slices.Concat(slices.Collect(maps.Keys(story.serves)), slices.Collect(maps.Keys(story.shown))) {
		require.True(t, known[first], "the page has no block that begins with %s", first)
	}
	return strings.Join(append(lines, story.after), "\n") + "\n"
}

// apiAddress returns the address of a worker's API.
func (w *workerProcess) apiAddress(t *testing.T) string {
	t.Helper()
	address, found := strings.CutPrefix(w.logged(t, "API endpoint", "url"), "http://")
	require.True(t, found)
	address, found = strings.CutSuffix(address, "/v1/")
	require.True(t, found)
	return address
}

// goForPages stands for go in the commands of pages: it runs what is built already.
const goForPages = `#!/bin/sh
here=$(dirname "$0")
[ "$1" = run ] || { echo "pages only run: $*" >&2; exit 2; }
program=$2
shift 2
[ -d "$program" ] || { echo "$program: no such folder" >&2; exit 2; }
exec "$here/$(basename "$program")" "$@"
`

// pagesPrograms returns a folder that has what commands of pages call: the programs, also under
// the names of their folders, the examples, and a go that runs them.
func pagesPrograms(t *testing.T) programs {
	t.Helper()
	needProgram(t, "curl")
	built, folder := buildPrograms(t), t.TempDir()
	for name, program := range map[string]string{
		"sendlimit": "sendlimit", "sendlimit-worker": "sendlimit-worker", "enqueue": "sendlimit", "worker": "sendlimit-worker",
		"receiver": "receiver", "order-reminder": "order-reminder", "traffic": "traffic",
	} {
		require.NoError(t, os.Symlink(filepath.Join(built.folder, program), filepath.Join(folder, name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go"), []byte(goForPages), 0o700))
	return programs{folder: folder}
}
