package script_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/internal/script"
)

func TestAPageOfNames(t *testing.T) {
	t.Parallel()
	for what, row := range map[string]struct {
		after string
		limit int
		want  []string
		next  string
	}{
		"the first page":       {"", 2, []string{"a", "b"}, "b"},
		"the last page":        {"b", 2, []string{"c", "e"}, ""},
		"all":                  {"", 5, []string{"a", "b", "c", "e"}, ""},
		"after a removed name": {"d", 5, []string{"e"}, ""},
		"after the last name":  {"e", 5, []string{}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			got, next := script.PageOf(slices.Clone([]string{"c", "a", "e", "b"}), row.after, row.limit)
			require.Equal(t, row.want, got)
			require.Equal(t, row.next, next)
		})
	}
}
