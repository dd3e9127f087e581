package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each fault in testdata is found where a comment says so, and nothing else is.
func TestFaults(t *testing.T) {
	t.Parallel()
	lint := filepath.Join(t.TempDir(), "lint")
	if text, err := exec.CommandContext(t.Context(), "go", "build", "-o", lint, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, text)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", "-vettool="+lint, "./...")
	vet.Dir = "testdata/house"
	text, err := vet.CombinedOutput()
	if err == nil {
		t.Fatal("it found nothing")
	}
	said := make(map[string][]string) // by file:line
	for _, m := range regexp.MustCompile(`(?m)^(\S+\.go:\d+):\d+: (\S.*)$`).FindAllStringSubmatch(string(text), -1) {
		// Go's cache may have it of another copy of the same folder, with that one's path.
		at := strings.TrimPrefix(m[1], "./")
		if _, inside, ok := strings.Cut(at, "testdata/house/"); ok {
			at = inside
		}
		said[at] = append(said[at], m[2])
	}
	for at, sentence := range wanted(t) {
		for _, want := range sentence {
			i := slices.IndexFunc(said[at], func(s string) bool { return strings.Contains(s, want) })
			if i < 0 {
				t.Errorf("%s: nobody says %q, but %q", at, want, said[at])
				continue
			}
			said[at] = slices.Delete(said[at], i, i+1)
		}
	}
	for at, rest := range said {
		for _, sentence := range rest {
			t.Errorf("%s: %s", at, sentence)
		}
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}

func wanted(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("testdata/house/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]string)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range regexp.MustCompile(`/\* want (.*?) \*/`).FindAllStringSubmatch(line, -1) {
				if strings.HasPrefix(strings.TrimSpace(line), "/* want") && !strings.Contains(m[1], "make fmt") {
					i++ // for the next line
				}
				at := filepath.ToSlash(strings.TrimPrefix(name, "testdata/house/")) + ":" + strconv.Itoa(i+1)
				all[at] = append(all[at], m[1])
			}
		}
	}
	return all
}

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, in, want string }{
		{
			"imports in three groups", "package a\n\nimport (\n\t\"" + module + "/b\" // b\n\t\"fmt\"\n\tx \"example.org/x\"\n\t\"errors\"\n)\n",
			"package a\n\nimport (\n\t\"errors\"\n\t\"fmt\"\n\n\tx \"example.org/x\"\n\n\t\"" + module + "/b\" // b\n)\n",
		},
		{
			"comments between imports stay", "package a\n\nimport (\n\t\"example.org/x\"\n\t// alone\n\n\t\"" + module + "/b\"\n)\n",
			"package a\n\nimport (\n\t\"example.org/x\"\n\t// alone\n\n\t\"" + module + "/b\"\n)\n",
		},
		{"stricter than gofmt", "package a\n\nfunc f() {\n\n\tg()\n}\n", "package a\n\nfunc f() {\n\tg()\n}\n"},
	} {
		got, err := formatText([]byte(row.in))
		if err != nil || string(got) != row.want {
			t.Errorf("%s: %s, %v", row.name, got, err)
		}
	}
}
