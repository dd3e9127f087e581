package integration_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Every picture of a terminal, every program and every answer in the pages is one that a test
// of this file makes, and commands are in blocks of sh.
func TestPicturesOfPagesAreMade(t *testing.T) {
	t.Parallel()
	made := []string{
		"README.md, A refusal, console", "docs/policies.md, Plan a campaign, console",
		"docs/api.md, From a program, go", "docs/library.md, As a library, go",
		"docs/api.md, Requests, json", "docs/webhook.md, The request, json", "docs/accounts.md, Alerts by webhook, json",
	}
	var there []string
	for _, page := range pagesOf(t) {
		for _, b := range blocksOf(t, page) {
			switch b.kind {
			case "console", "go", "json":
				there = append(there, page+", "+b.heading+", "+b.kind)
			case "sh", "yaml", "csv":
			case "nginx", "caddyfile", "haproxy": // TestReverseProxies runs them
				require.Equal(t, proxiesPage, page)
			case "redis": // TestLeastRightsOnRedis runs them
				require.Equal(t, "docs/redis.md", page)
			default:
				pictures := []string{"README.md, How it works, ", "docs/availability.md, High availability, "}
				require.Contains(t, pictures, page+", "+b.heading+", "+b.kind, "only a picture has no kind; write sh for commands")
			}
		}
	}
	require.ElementsMatch(t, made, there)
}

func TestRefusalOfTheReadme(t *testing.T) {
	t.Parallel()
	p := pagesPrograms(t)
	environ := p.worker(t, nil).environ(t)

	picture, coming := onADayToCome(t, fenced(t, "README.md", "A refusal", "console"))
	command, want, found := strings.Cut(picture, "\n")
	require.True(t, found)
	arguments, found := strings.CutPrefix(strings.ReplaceAll(command, "'", `"`), "$ sendlimit ")
	require.True(t, found)
	first := p.command(t, "sendlimit", environ, []string{"push", "--user", "alice", "--id", "table", "--at", coming + "T11:11:11Z", "--title", "Your table is ready"})
	require.Zero(t, first.status, first.stderr)
	refused := p.command(t, "sendlimit", environ, words(arguments))
	require.Equal(t, 3, refused.status, refused.stderr)
	require.Equal(t, want, refused.stdout)
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

// The answer to the second request of the API's page is the one that it shows.
func TestRefusalOfTheAPIPage(t *testing.T) {
	t.Parallel()
	needProgram(t, "curl")
	requests := strings.ReplaceAll(fenced(t, "docs/api.md", "Requests", "sh"), "127.0.0.1:8080", buildPrograms(t).worker(t, nil).apiAddress(t))
	output, err := exec.CommandContext(t.Context(), "sh", "-euc", requests).CombinedOutput()
	require.NoError(t, err, "%s", output)
	answers := strings.Split(strings.TrimSpace(string(output)), "\n")
	require.Len(t, answers, 8, "%s", output)
	day := regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindString(answers[0])
	refusal := onADay(t, fenced(t, "docs/api.md", "Requests", "json"), day)
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

// The bodies that pages show have the members that the API documents, and all that are required.
func TestBodiesOfPages(t *testing.T) {
	t.Parallel()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage `json:"properties"`
				Required   []string                   `json:"required"`
			} `json:"schemas"`
		} `json:"components"`
	}
	require.NoError(t, json.Unmarshal(documentOf(t, buildPrograms(t).worker(t, nil).apiAddress(t)), &document))
	for schema, body := range map[string]string{
		"Delivery": fenced(t, "docs/webhook.md", "The request", "json"),
		"Notice":   fenced(t, "docs/accounts.md", "Alerts by webhook", "json"),
	} {
		described, found := document.Components.Schemas[schema]
		require.True(t, found, "%s of %v", schema, slices.Sorted(maps.Keys(document.Components.Schemas)))
		var members map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &members), body)
		for member := range members {
			require.Contains(t, described.Properties, member, schema)
		}
		for _, member := range described.Required {
			require.Contains(t, members, member, schema)
		}
	}
}

// The plan of a campaign is what its command prints for such a one.
func TestPlanOfThePoliciesPage(t *testing.T) {
	t.Parallel()
	p := pagesPrograms(t)
	worker := p.worker(t, nil, "--policy-quiet-hours", "22:00-08:00")
	picture, day := onADayToCome(t, fenced(t, "docs/policies.md", "Plan a campaign", "console"))
	command, want, found := strings.Cut(picture, "\n")
	require.True(t, found)
	words := strings.Fields(command)
	require.Equal(t, []string{"$", "sendlimit", "bulk", "campaign.csv"}, words[:4])

	at := func(minute int) string { return fmt.Sprintf("%sT%02d:%02d:00Z", day, 19+minute/60, minute%60) }
	var lines strings.Builder
	lines.WriteString("user,send_at,title,on_conflict\n")
	for i := range 600 {
		first := 20 + i%40
		fmt.Fprintf(&lines, "user-%d,%s,Two for one tonight,\n", i, at(first))
		if i%2 == 0 {
			fmt.Fprintf(&lines, "user-%d,%s,Last tables,shift\n", i, at(first+10+i%4*10))
		}
		if i%5 == 0 {
			fmt.Fprintf(&lines, "user-%d,%s,How was it?,\n", i, at(185))
		}
	}
	campaign := filepath.Join(t.TempDir(), "campaign.csv")
	require.NoError(t, os.WriteFile(campaign, []byte(lines.String()), 0o600))
	environ := worker.environ(t)
	planned := p.command(t, "sendlimit", environ, append([]string{"bulk", campaign}, words[4:]...))
	require.Zero(t, planned.status, planned.stderr)
	took := regexp.MustCompile(`in .* a second`)
	require.Equal(t, took.ReplaceAllString(want, ""), took.ReplaceAllString(planned.stdout, ""))
}

func TestProgramOfTheAPIPage(t *testing.T) {
	t.Parallel()
	address := buildPrograms(t).worker(t, nil).apiAddress(t)
	for _, want := range []string{
		`^accepted `,
		`^(refused: send_limit - next free: |accepted )`, // 1/minute, unless the machine is that slow
	} {
		require.Regexp(t, want, runExample(t, "docs/api.md", "From a program", "127.0.0.1:8080", address))
	}
}

func TestProgramOfTheLibraryPage(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	for _, want := range []string{
		"reserved; hand it to your queue for ",
		"reminder-1 is reserved for another time: Move changes it\n", // 48 hours from then
	} {
		require.Contains(t, runExample(t, "docs/library.md", "As a library", "127.0.0.1:6379", client.Options().Addr), want)
	}
}

// runExample runs the Go program of a page with another address, and returns its output.
func runExample(t *testing.T, page, heading, address, instead string) string {
	t.Helper()
	code := fenced(t, page, heading, "go")
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

// onADayToCome replaces the day of a text by the day after tomorrow.
func onADayToCome(t *testing.T, text string) (moved, day string) {
	t.Helper()
	day = time.Now().UTC().AddDate(0, 0, 2).Format(time.DateOnly)
	return onADay(t, text, day), day
}

// onADay replaces the first day of a text, wherever it is.
func onADay(t *testing.T, text, day string) string {
	t.Helper()
	written := regexp.MustCompile(`\d{4}-\d\d-\d\d`).FindString(text)
	require.NotEmpty(t, written)
	return strings.ReplaceAll(text, written, day)
}
