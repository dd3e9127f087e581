package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// metrics returns the names of all metrics that the worker has, with the series of histograms.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	list, err := os.ReadFile("../../prometheus/metrics.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^\\| `(sendlimit_[a-z0-9_]+)`").FindAllSubmatch(list, -1) {
		name := string(found[1])
		known[name] = true
		if strings.HasSuffix(name, "_seconds") {
			known[name+"_bucket"], known[name+"_count"], known[name+"_sum"] = true, true, true
		}
	}
	require.Greater(t, len(known), 30)
	return known
}

func asked(text string) []string {
	return regexp.MustCompile(`sendlimit_[a-z0-9_]+`).FindAllString(text, -1)
}

func TestTheDashboardIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := render(rows())
	require.NoError(t, err)
	got, err := os.ReadFile("../sendlimit.json")
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "write it anew with go generate ./grafana/generate")
}

func TestPanelsAskForMetricsThatExist(t *testing.T) {
	t.Parallel()
	known, titles := metrics(t), map[string]bool{}
	for _, r := range rows() {
		for _, p := range r.panels {
			require.False(t, titles[p.title], p.title)
			titles[p.title] = true
			require.NotEmpty(t, p.unit, p.title)
			require.Regexp(t, `^[A-Z].{20,}\.$`, p.about, p.title)
			require.NotEmpty(t, p.queries, p.title)
			for _, q := range p.queries {
				require.Contains(t, q.expr, job, p.title)
				for _, name := range asked(q.expr) {
					require.True(t, known[name], "%s of %q does not exist", name, p.title)
				}
			}
		}
	}
}

func TestAlertsAskForMetricsThatExist(t *testing.T) {
	t.Parallel()
	known := metrics(t)
	for _, file := range []string{"alerts.yaml", "alerts_test.yaml", "adapter.yaml"} {
		text, err := os.ReadFile("../../prometheus/" + file)
		require.NoError(t, err)
		for _, name := range asked(string(text)) {
			require.True(t, known[name] || name == "sendlimit_messages_to_deliver", "%s of %s does not exist", name, file)
		}
	}
}

// Prometheus itself reads each expression.
func TestExpressionsAreValid(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("promtool"); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "promtool is in Debian's package prometheus")
		}
		t.Skip("no promtool: the expressions are not read")
	}
	var file strings.Builder
	file.WriteString("groups:\n- name: panels\n  rules:\n")
	for _, r := range rows() {
		for _, p := range r.panels {
			for _, q := range p.queries {
				file.WriteString("  - record: x\n    labels: {id: n" + regexp.MustCompile(`\W`).ReplaceAllString(p.title+q.legend, "") + "}\n")
				file.WriteString("    expr: '" + strings.NewReplacer("$__rate_interval", "1m", "$job", "sendlimit").Replace(q.expr) + "'\n")
			}
		}
	}
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, []byte(file.String()), 0o600))
	output, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", path).CombinedOutput()
	require.NoError(t, err, string(output))
}
