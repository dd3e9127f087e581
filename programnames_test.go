package sendlimiter_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Texts call the programs sendlimit and sendlimit-worker: help, errors, pages, e-mails, examples,
// settings and alerts. They do not use the names of the folders, enqueue and worker.
func TestTextsCallTheProgramsByTheirNames(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("cmd/internal/cli/names.go")
	require.NoError(t, err)
	lists := regexp.MustCompile(`Commands += "([a-z -]+)"`).FindAllSubmatch(source, -1)
	require.Len(t, lists, 2, "the commands of both programs")
	commands := strings.Fields(string(lists[0][1]) + " " + string(lists[1][1]) + " man version completion help")
	former := regexp.MustCompile("(?:^|[\\s\"'(|>`])(?:worker|enqueue) (?:(?:" + strings.Join(commands, "|") + `)\b|--[a-z]).{0,40}`)
	wrap := regexp.MustCompile(`\\n" \+\n\s*"|\n\s*(?://|#|--|\*)?\s*`)

	files := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains([]string{".git", "bin", "dist", "docs", "node_modules", "testdata"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		case !slices.Contains([]string{".go", ".html", ".js", ".md", ".py", ".service", ".env", ".sh", ".tmpl", ".ts", ".yaml", ".yml", ""}, filepath.Ext(path)),
			slices.Contains([]string{"CHANGELOG.md", "README.md"}, path), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		for _, found := range former.FindAllString(wrap.ReplaceAllString(string(text), " "), -1) {
			t.Errorf("%s: %s", path, found)
		}
		return err
	}))
	require.Greater(t, files, 1000)
}
