package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// toolsFolder has tools that read the OpenAPI document: linters, a generator of clients and a
// validator, with their versions.
const toolsFolder = "../integration/testdata/openapi"

// installed installs the tools once. They stay, and are installed again if a version
// changes.
var installed = sync.OnceValue(func() error { //nolint:globals // all tests share one installation
	lock, err := os.ReadFile(filepath.Join(toolsFolder, "package-lock.json"))
	if err != nil {
		return err
	}
	stamp := filepath.Join(toolsFolder, "node_modules", ".installed.json")
	if had, err := os.ReadFile(stamp); err == nil && string(had) == string(lock) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), installWithin)
	defer cancel()
	if out, err := tool(ctx, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--fetch-timeout=20000", "--fetch-retries=5").CombinedOutput(); err != nil {
		return &toolError{"npm ci: " + err.Error() + ": install Node.js 18.18 or later with npm, or let make do it as root\n" + string(out)}
	}
	return os.WriteFile(stamp, lock, 0o600)
})

// installWithin bounds the installation, which competes with the compiler when all caches are cold. npm
// itself asks for a package again that does not come.
const installWithin = 10 * time.Minute

type toolError struct{ says string }

func (e *toolError) Error() string { return e.says }

// tool returns a command that runs in the folder of the tools.
func tool(ctx context.Context, name string, arguments ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, arguments...)
	c.Dir, c.WaitDelay = toolsFolder, time.Second // children of a tool that was stopped keep its output open
	return c
}

// runs requires that a tool succeeds, and returns what it prints.
func runs(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	out, err := tool(t.Context(), "node_modules/.bin/"+name, arguments...).CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(arguments, " "), out)
	return string(out)
}

// saved writes the OpenAPI document to a file of its own, after change has changed it.
func saved(t *testing.T, change func(document map[string]any)) string {
	t.Helper()
	var document map[string]any
	require.NoError(t, json.Unmarshal(newRig(t).document(), &document))
	if change != nil {
		change(document)
	}
	text, err := json.Marshal(document)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "openapi.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// Linters find nothing in the document, not even something to warn of. They do find that
// a part is missing.
func TestLintersFindNothingInTheDocument(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	file, less := saved(t, nil), saved(t, func(document map[string]any) { delete(document, "servers") })
	require.NoError(t, installed())
	once(t, ".linted", func() {
		out, err := tool(t.Context(), "node", "lint.mjs", file, less).Output()
		require.Error(t, err)
		for _, finding := range []string{"no-empty-servers", "oas3-api-servers", less} {
			require.Contains(t, string(out), finding)
		}
		require.NotContains(t, string(out), file)
	}, file, "lint.mjs")
}

// A client that is generated from the document compiles with good calls, and with no bad
// one: bad.ts has a directive before each, and the compiler reports a directive before a
// line that compiles.
func TestAGeneratedClientHasTypes(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	file := saved(t, nil)
	folder, err := filepath.Abs(toolsFolder)
	require.NoError(t, err)
	types := filepath.Join(filepath.Dir(file), "api.ts") // which the compiler checks too
	project, err := json.Marshal(map[string]any{
		"extends":         filepath.Join(folder, "tsconfig.json"),
		"compilerOptions": map[string]any{"paths": map[string][]string{"api": {types}}},
		"files":           []string{filepath.Join(folder, "good.ts"), filepath.Join(folder, "bad.ts")},
	})
	require.NoError(t, err)
	config := filepath.Join(filepath.Dir(file), "tsconfig.json")
	require.NoError(t, os.WriteFile(config, project, 0o600))
	require.NoError(t, installed())
	once(t, ".typed", func() {
		runs(t, "openapi-typescript", file, "--output", types)
		require.Empty(t, runs(t, "tsc", "--project", config))
	}, file, "tsconfig.json", "good.ts", "bad.ts")
}

// once runs a check that tools make of files of their folder, and of others by their full paths, unless
// it succeeded before on the same ones, with the same tools and in the same way. memory is the file that
// remembers it.
func once(t *testing.T, memory string, check func(), files ...string) {
	t.Helper()
	how, err := filepath.Abs("npmtools_test.go")
	require.NoError(t, err)
	digest := sha256.New()
	for _, file := range append(files, how, "package-lock.json") {
		if !filepath.IsAbs(file) {
			file = filepath.Join(toolsFolder, file)
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		fmt.Fprintf(digest, "%d\n%s", len(text), text)
	}
	read := hex.EncodeToString(digest.Sum(nil))
	memory = filepath.Join(toolsFolder, "node_modules", memory)
	if last, err := os.ReadFile(memory); err == nil && string(last) == read {
		return
	}
	check()
	require.NoError(t, os.WriteFile(memory, []byte(read), 0o600))
}

// The tools, and those that build the TypeScript client, come from the public registry, on whatever
// machine their versions were recorded.
func TestToolsComeFromTheRegistry(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{toolsFolder, "../clients/typescript", "../integration/testdata/dashboard"} {
		text, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
		require.NoError(t, err)
		var lock struct {
			Packages map[string]struct {
				Version   string `json:"version"`
				Resolved  string `json:"resolved"`
				Integrity string `json:"integrity"`
			} `json:"packages"`
		}
		require.NoError(t, json.Unmarshal(text, &lock))
		require.NotEmpty(t, lock.Packages)
		for name, p := range lock.Packages {
			if name == "" {
				continue // the folder itself
			}
			require.NotEmpty(t, p.Version, name)
			require.NotEmpty(t, p.Integrity, name)
			require.True(t, p.Resolved == "" || strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/"), p.Resolved)
		}
	}
}
