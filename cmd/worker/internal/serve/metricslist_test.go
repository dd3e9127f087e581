package serve

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// listed is where users find every metric, and where the tests of dashboard and alerts look
// which metrics there are.
const listed = "../../../../deploy/prometheus/metrics.md"

const aboutTheList = `# Metrics

Every metric of ` + "`/metrics`" + `, with its labels. A histogram has the series ` + "`_bucket`, `_sum` and `_count`" + `. There are those of the Go runtime and of the process too: ` + "`go_…` and `process_…`" + `. No label has a user, an id or content.

| metric | labels | what it says |
| --- | --- | --- |
`

// The list has every metric that there is, and no other. SENDLIMIT_WRITE_METRICS=1 writes it.
func TestEveryMetricIsListed(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	m, err := newMetrics(client, "")
	require.NoError(t, err)
	require.NoError(t, m.watch(taskstest.Open(t, client, backend.Options{}), false))
	described := make(chan *prometheus.Desc, 1000)
	m.registry.Describe(described)
	close(described)
	form := regexp.MustCompile(`^Desc\{fqName: "(sendlimit_[a-z0-9_]+)", help: "(.*?)"(?:, unit: "[^"]*")?, constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	var rows []string
	for d := range described {
		if found := form.FindStringSubmatch(d.String()); found != nil {
			constant := regexp.MustCompile(`="[^"]*"`).ReplaceAllString(found[3], "")
			labels := strings.Trim(strings.ReplaceAll(constant+","+found[4], ",", ", "), ", ")
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", found[1], labels, found[2]))
		}
	}
	slices.Sort(rows)
	require.Greater(t, len(rows), 30)
	want := aboutTheList + strings.Join(rows, "")
	if os.Getenv("SENDLIMIT_WRITE_METRICS") == "1" {
		require.NoError(t, os.WriteFile(listed, []byte(want), 0o644))
	}
	got, err := os.ReadFile(listed)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "write it anew with SENDLIMIT_WRITE_METRICS=1")
}
