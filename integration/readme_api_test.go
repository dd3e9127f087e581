package integration_test

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readmeAddress is the API's address in the README.
const readmeAddress = "127.0.0.1:8080"

// apiAddress returns the address of a worker's API.
func (w *workerProcess) apiAddress(t *testing.T) string {
	t.Helper()
	address, found := strings.CutPrefix(w.logged(t, "API endpoint", "url"), "http://")
	require.True(t, found)
	address, found = strings.CutSuffix(address, "/v1/")
	require.True(t, found)
	return address
}

// A shell sends the README's requests to a worker, and the answers are those of the
// README.
func TestReadmeRequests(t *testing.T) {
	t.Parallel()
	needProgram(t, "curl")
	worker := buildPrograms(t).worker(t, nil)
	const section = "HTTP API"
	requests := fenced(t, section, "sh")
	require.Equal(t, strings.Count(requests, "curl"), strings.Count(requests, readmeAddress))
	requests = strings.ReplaceAll(requests, readmeAddress, worker.apiAddress(t))

	output, err := exec.CommandContext(t.Context(), "sh", "-euc", requests).CombinedOutput()
	require.NoError(t, err, "%s", output)
	answers := strings.Split(strings.TrimSpace(string(output)), "\n")
	require.Len(t, answers, 8, "%s", output)
	day := regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindString(answers[0])
	for i, expected := range []string{
		`{"outcome":"accepted","id":"table"`, `{"type":"/problems/send_limit"`, `{"id":"table","user":"alice","status":"scheduled"`,
		`{"times":[{"user":"alice","free_at":"` + day + `T11:12:11.000Z"}`, `{"outcome":"moved"`, `{"outcome":"cancelled"`,
		`{"outcome":"accepted","line":1`, `{"outcome":"refused","line":2`,
	} {
		require.True(t, strings.HasPrefix(answers[i], expected), "%s\n%s", expected, answers[i])
	}

	refusal := onADay(t, fenced(t, section, "json"), day)
	require.JSONEq(t, withoutInstance(t, refusal), withoutInstance(t, answers[1]))
}

// withoutInstance removes a problem's instance, which differs each time.
func withoutInstance(t *testing.T, problem string) string {
	t.Helper()
	var members map[string]any
	require.NoError(t, json.Unmarshal([]byte(problem), &members), problem)
	require.NotEmpty(t, members["instance"])
	delete(members, "instance")
	rest, err := json.Marshal(members)
	require.NoError(t, err)
	return string(rest)
}

func TestReadmeClient(t *testing.T) {
	t.Parallel()
	worker := buildPrograms(t).worker(t, nil)
	for _, want := range []string{
		`^accepted `,
		`^(refused: send_limit - next free: |accepted )`, // 1/minute, unless the machine is that slow
	} {
		require.Regexp(t, want, runExample(t, "HTTP API", readmeAddress, worker.apiAddress(t)))
	}
}
