package integration_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/clients/generate"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// The folders of the clients for other languages.
const (
	typescriptFolder = "../clients/typescript"
	pythonFolder     = "../clients/python"
)

// writeClients makes TestClientsAreGenerated write the files that it compares.
const writeClients = "SENDLIMIT_WRITE_CLIENTS"

// The generated files of the clients are what the present document gives.
func TestClientsAreGenerated(t *testing.T) {
	t.Parallel()
	document := documentOf(t, buildPrograms(t).worker(t, nil).apiAddress(t))
	files, err := generate.Files(document)
	require.NoError(t, err)
	files["typescript/src/schemas.ts"] = typescriptSchemas(t, document)
	if os.Getenv(writeClients) != "" {
		for file, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join("../clients", file), text, 0o644))
		}
	}
	outdated, err := generate.Outdated("../clients", files)
	require.NoError(t, err)
	require.Empty(t, outdated, "make clients writes these files, named from the folder clients, from the OpenAPI document")
}

// The tests of the TypeScript client pass on a real worker.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	installTools(t, typescriptFolder)
	once(t, typescriptFolder+"/dist/.compiled", func() []byte {
		return clientTest(t, typescriptFolder, nil, "node_modules/.bin/tsc")
	}, "package.json", "package-lock.json", "tsconfig.json", "src/*.ts", "test/*.ts", "examples/*.ts")
	tests, err := filepath.Glob(typescriptFolder + "/test/*.test.ts")
	require.NoError(t, err)
	arguments := []string{"--test"}
	for _, test := range tests {
		arguments = append(arguments, "dist/test/"+strings.TrimSuffix(filepath.Base(test), ".ts")+".js")
	}
	clientTest(t, typescriptFolder, []string{"SENDLIMIT_URL=http://" + p.worker(t, nil).apiAddress(t)}, "node", arguments...)
}

// testPythonClient runs the tests of the Python client on a worker.
func testPythonClient(t *testing.T, worker *workerProcess) {
	t.Helper()
	clientTest(t, pythonFolder, []string{"SENDLIMIT_URL=http://" + worker.apiAddress(t), "PYTHONDONTWRITEBYTECODE=1"},
		needProgram(t, "/usr/bin/python3", "python3"), "-W", "error", "-m", "unittest", "discover", "--top-level-directory", ".", "--start-directory", "tests")
}

// The Python client has the types that it says.
func TestTypesOfThePythonClient(t *testing.T) {
	t.Parallel()
	sendlimittest.Long(t)
	clientTest(t, pythonFolder, nil, needProgram(t, "mypy"))
}

// documentOf returns the OpenAPI document of an API.
func documentOf(t *testing.T, address string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/openapi.json", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	document, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return document
}

// typescriptSchemas returns the types that openapi-typescript makes of a document.
func typescriptSchemas(t *testing.T, document []byte) []byte {
	t.Helper()
	schemas, err := generate.Schemas(document)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "schemas.json")
	require.NoError(t, os.WriteFile(file, schemas, 0o600))
	installTools(t, typescriptFolder)
	return once(t, typescriptFolder+"/node_modules/.generated.json", func() []byte {
		return clientTest(t, typescriptFolder, nil, "node", "generate.mjs", file)
	}, "package-lock.json", "generate.mjs", file)
}

// once returns what a tool printed when it last ran in the folder of the TypeScript client, if
// the files that it read then, given as patterns in that folder or as paths, are the same.
// Otherwise it runs the tool. memory is the file that remembers it.
func once(t *testing.T, memory string, run func() []byte, patterns ...string) []byte {
	t.Helper()
	type remembered struct {
		Read    []byte `json:"read"`
		Printed []byte `json:"printed"`
	}
	digest := sha256.New()
	for _, pattern := range patterns {
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(typescriptFolder, pattern)
		}
		names, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, names, pattern)
		for _, name := range names {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			fmt.Fprintf(digest, "%s %d\n%s", filepath.Base(name), len(text), text)
		}
	}
	last := remembered{}
	read := digest.Sum(nil)
	if text, err := os.ReadFile(memory); err == nil && json.Unmarshal(text, &last) == nil && bytes.Equal(last.Read, read) {
		return last.Printed
	}
	last = remembered{Read: read, Printed: run()}
	text, err := json.Marshal(last)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(memory, text, 0o600))
	return last.Printed
}

// installTools installs what npm installs in a folder, unless it is installed.
func installTools(t *testing.T, folder string) {
	t.Helper()
	buildOnce.Lock() // one at a time
	defer buildOnce.Unlock()
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	require.NoError(t, err)
	stamp := filepath.Join(folder, "node_modules", ".installed.json")
	if had, err := os.ReadFile(stamp); err == nil && string(had) == string(lock) {
		return
	}
	clientTest(t, folder, nil, needProgram(t, "npm"), "ci", "--prefer-offline", "--fetch-timeout=20000", "--fetch-retries=5")
	require.NoError(t, os.WriteFile(stamp, lock, 0o600))
}

// clientTest runs a program in the folder of a client, and returns what it prints.
func clientTest(t *testing.T, folder string, environ []string, name string, arguments ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var problems strings.Builder
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir, command.WaitDelay = folder, time.Second
	command.Env = append(os.Environ(), environ...)
	command.Stderr = &problems
	out, err := command.Output()
	require.NoError(t, err, "%s %s\n%s%s", name, strings.Join(arguments, " "), out, problems.String())
	return out
}

// needProgram returns the first of some programs that is installed. Without any it skips
// the test, or fails it if everything must be tested.
func needProgram(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.NotEqual(t, "true", os.Getenv("CI"), "no %s in PATH", names[0])
	t.Skipf("no %s in PATH", names[0])
	return ""
}
