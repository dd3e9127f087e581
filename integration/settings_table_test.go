package integration_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// The table of docs/operations.md has settings that there are, with their defaults. The example
// file, which is tested to have every setting, says what these are.
func TestSettingsOfTheOperationsPage(t *testing.T) {
	t.Parallel()
	var settings map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(readPage(t, "sendlimit.example.yaml")), &settings))
	_, table, found := strings.Cut(readPage(t, "docs/operations.md"), "| setting | default | decide |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	checked := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		names := regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(cells[1], -1)
		stated := strings.Trim(strings.TrimSpace(cells[2]), "`")
		for _, name := range names {
			var value any = settings
			for part := range strings.SplitSeq(name[1], ".") {
				group, ok := value.(map[string]any)
				require.True(t, ok, name[1])
				value, ok = group[part]
				require.True(t, ok, "there is no setting %s", name[1])
			}
			is := fmt.Sprint(value)
			if is == "" || is == "[]" {
				is = "–"
			}
			require.Equal(t, is, stated, name[1])
			checked++
		}
	}
	require.Greater(t, checked, 15)
}
