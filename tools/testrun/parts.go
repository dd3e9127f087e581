package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A part is packages of one module whose tests are built in one call of go test.
type part struct {
	name     string
	folder   string // of the module
	packages []string
	parallel int               // how many tests of a package run at a time; 0 for as many as there are processors
	waits    bool              // for servers and the clock; such a part has priority, since its tests judge how late a message is
	timeout  time.Duration     // of a package's tests; 0 for maxTime
	race     map[string]string // the tests of each package that run under the race detector; nil for all tests, without it
}

// parts returns all parts in the order in which they are built.
func parts() []part {
	return []part{
		{name: "integration", folder: "integration", packages: []string{"./..."}, parallel: 6, waits: true},
		{name: "bench", folder: "bench", packages: []string{"./..."}, parallel: 6, waits: true},
		{name: "packages", folder: ".", packages: []string{"./..."}},
		{name: "race", folder: ".", packages: []string{"./..."}, race: raced()},
		{name: "tools", folder: "tools", packages: []string{"./testrun"}},
	}
}

// folder is the output of go list for a package.
type folder struct {
	ImportPath, Dir                    string
	Module                             struct{ Path string }
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// build builds a part's test programs, the largest first: they tend to take the longest.
func (p part) build(ctx context.Context, r *report) ([]program, error) {
	listed, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.checkRaced(listed); err != nil {
		return nil, err
	}
	listed = slices.DeleteFunc(listed, func(f folder) bool {
		return len(f.TestGoFiles)+len(f.XTestGoFiles) == 0 || (p.race != nil && p.tests(f) == "")
	})
	// Programs with the same name are built into different folders.
	var programs []program
	var sets [][]string
	for _, f := range listed {
		n := 0
		for n < len(sets) && slices.ContainsFunc(sets[n], func(other string) bool { return path.Base(other) == path.Base(f.ImportPath) }) {
			n++
		}
		if n == len(sets) {
			sets = append(sets, nil)
		}
		sets[n] = append(sets[n], f.ImportPath)
		programs = append(programs, program{
			part: p, pkg: f.ImportPath, folder: f.Dir, tests: p.tests(f),
			file: filepath.Join(p.binaries(n), path.Base(f.ImportPath)+".test"),
		})
	}
	for n, set := range sets {
		if err := p.compile(ctx, r, p.binaries(n), set); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(programs, func(a, b program) int { return cmp.Compare(size(b.file), size(a.file)) })
	return programs, nil
}

// binaries returns the folder of a set of programs.
func (p part) binaries(n int) string {
	root, err := filepath.Abs("bin")
	if err != nil {
		panic(err)
	}
	return filepath.Join(root, "tests", p.name, strconv.Itoa(n)) + string(filepath.Separator)
}

func (p part) compile(ctx context.Context, r *report, into string, packages []string) error {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", into} // the linters vet; nobody debugs these programs
	if p.race != nil {
		args = append(args, "-race")
	}
	// With cold caches it would take the processors from the tests that run, until their stores do not
	// answer in time.
	args = append([]string{"-n", "5", "go"}, args...)
	command := exec.CommandContext(ctx, "nice", append(args, packages...)...)
	command.Dir, command.Env = p.folder, p.environment(0)
	said, err := command.CombinedOutput()
	r.spent(p.name, command.ProcessState)
	if err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, said)
	}
	return nil
}

func (p part) list(ctx context.Context) ([]folder, error) {
	out, err := goTool(ctx, append([]string{"list", "-C", p.folder, "-json=ImportPath,Dir,Module,GoFiles,TestGoFiles,XTestGoFiles"}, p.packages...)...)
	if err != nil {
		return nil, err
	}
	var listed []folder
	for decoder := json.NewDecoder(strings.NewReader(out)); decoder.More(); {
		var f folder
		if err := decoder.Decode(&f); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		listed = append(listed, f)
	}
	return listed, nil
}

// path returns a package's path below its module.
func (f folder) path() string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(f.ImportPath, f.Module.Path), "/"), ".")
}

func size(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tests returns the pattern of the package's tests that this part runs; "" means all without the
// race detector, and none with it.
func (p part) tests(f folder) string {
	pattern := p.race[f.path()]
	if strings.HasPrefix(pattern, "in ") {
		return ""
	}
	return pattern
}

var startsGoroutines = regexp.MustCompile(`\.Go\(|\bgo (func\b|[a-zA-Z.]+\()`)

// checkRaced requires that the table lists every package that starts goroutines, except programs
// and packages that only tests and examples use, and no other names.
func (p part) checkRaced(listed []folder) error {
	if p.race == nil {
		return nil
	}
	var errs []error
	known := make(map[string]bool)
	for _, f := range listed {
		known[f.path()] = true
		if _, ok := p.race[f.path()]; ok || regexp.MustCompile(`(^|/)(cmd|examples|[a-z]+test)(/|$)`).MatchString(f.path()) {
			continue
		}
		for _, name := range f.GoFiles {
			source, err := os.ReadFile(filepath.Join(f.Dir, name))
			if err != nil {
				return err
			}
			if startsGoroutines.Match(source) {
				errs = append(errs, fmt.Errorf("%s starts goroutines in %s: name in race.go the tests that the race detector watches", f.path(), name))
				break
			}
		}
	}
	for name, pattern := range p.race {
		if other, ok := strings.CutPrefix(pattern, "in "); !known[name] || (ok && p.race[other] == "") {
			errs = append(errs, fmt.Errorf("race.go names %s: %s, which is not there", name, pattern))
		}
	}
	return errors.Join(errs...)
}

// goTool calls go and returns its output.
func goTool(ctx context.Context, args ...string) (string, error) {
	var said bytes.Buffer
	command := exec.CommandContext(ctx, "go", args...)
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, &said)
	}
	return string(out), nil
}
