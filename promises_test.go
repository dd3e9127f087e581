package sendlimiter_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tables of promises name tests that exist.
func TestPromisesNameTheirTests(t *testing.T) {
	t.Parallel()
	exist := make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			exist[found[1]] = true
		}
		return err
	}))
	for _, page := range []string{"CONTRIBUTING.md", "docs/security.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		named := regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, named, page)
		for _, name := range named {
			require.True(t, exist[name[1]], "%s names %s", page, name[1])
		}
	}
}
