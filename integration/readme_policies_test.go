package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's commands apply its policy, in a folder that has it as rules.yaml.
func TestReadmePolicies(t *testing.T) {
	t.Parallel()
	const section = "Policies"
	p := buildPrograms(t)
	worker := p.worker(t, nil)
	worker.delivers(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules.yaml"), []byte(fenced(t, section, "yaml")), 0o600))

	shell := exec.CommandContext(t.Context(), "sh", "-euc", fenced(t, section, "sh"))
	shell.Dir = folder
	shell.Env = []string{"PATH=" + p.folder, "REDIS_URL=redis://" + worker.logged(t, "embedded store", "address")}
	output, err := shell.CombinedOutput()
	require.NoError(t, err, "%s", output)
	for _, said := range []string{
		"default: version 1 → 2\n",
		"  quiet_hours           none → 22:00-08:00 and sat,sun 00:00-10:00\n",
		"1/minute, 5/hour, 10/calendar_day; codes exempt and not counted; marketing 2/calendar_day",
		"  20/calendar_day  all messages, set for alice in place of 10/calendar_day\n",
		"  calendar periods are those of Asia/Kathmandu\n",
		"mallory is blocked: nothing more is accepted\n",
	} {
		require.Contains(t, string(output), said)
	}
	require.Contains(t, worker.logged(t, "the policy changed", "rules"), "quiet 22:00-08:00")
}

// The README's plan is what its command prints for such a campaign.
func TestReadmePlan(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	worker := p.worker(t, nil, "--policy-quiet-hours", "22:00-08:00")
	worker.delivers(t)
	picture, day := onADayToCome(t, fenced(t, "Planning", "console"))
	command, want, found := strings.Cut(picture, "\n")
	require.True(t, found)
	words := strings.Fields(command)
	require.Equal(t, []string{"$", "enqueue", "bulk", "campaign.csv"}, words[:4])

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
	environ := []string{"LANG=C.UTF-8", "REDIS_URL=redis://" + worker.logged(t, "embedded store", "address")}
	planned := p.enqueue(t, environ, append([]string{"bulk", campaign}, words[4:]...)...)
	require.Zero(t, planned.status, planned.stderr)
	took := regexp.MustCompile(`in .* a second`)
	require.Equal(t, took.ReplaceAllString(want, ""), took.ReplaceAllString(planned.stdout, ""))
}
