package sendlimiter_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The map of packages in docs/how-it-works.md has the folders of tasks, records and sendlimit, without
// those of tests, and no others.
func TestTheMapHasEachPackage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/how-it-works.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## Packages\n")
	tree, _, found := strings.Cut(rest, "\nWhere is it decided?")
	if !found {
		t.Fatal("docs/how-it-works.md has no map of packages")
	}
	listed := regexp.MustCompile(`(?m)^ +((?:[a-z]+, )*[a-z]+)  `)
	for _, root := range []string{"tasks", "records", "sendlimit"} {
		_, part, found := strings.Cut(tree, "\n    "+root+" ")
		if !found {
			t.Fatalf("the map has no %s", root)
		}
		_, part, _ = strings.Cut(part, "\n")
		if end := regexp.MustCompile(`(?m)^ {0,4}(\S|$)`).FindStringIndex(part); end != nil {
			part = part[:end[0]]
		}
		var names []string
		for _, line := range listed.FindAllStringSubmatch(part, -1) {
			names = append(names, strings.Split(line[1], ", ")...)
		}
		entries, err := os.ReadDir(root)
		if err != nil {
			t.Fatal(err)
		}
		var folders []string
		for _, entry := range entries {
			name := entry.Name()
			if entry.IsDir() && name != "internal" && !strings.HasSuffix(name, "test") && !strings.HasSuffix(name, "testdata") {
				folders = append(folders, name)
			}
		}
		for _, name := range folders {
			if !slices.Contains(names, name) {
				t.Errorf("the map in docs/how-it-works.md has no %s/%s", root, name)
			}
		}
		for _, name := range names {
			if !slices.Contains(folders, name) {
				t.Errorf("the map in docs/how-it-works.md has %s/%s: there is no such folder", root, name)
			}
		}
	}
}
