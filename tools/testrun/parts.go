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

// builtAtOnce is how many programs a call of go test builds. Tests wait for the end of a call.
const builtAtOnce = 8

// build builds a part's test programs, those with the most tests first, and passes on each.
func (p part) build(ctx context.Context, r *report, built func(program)) error {
	listed, err := p.list(ctx)
	if err != nil {
		return err
	}
	if err := p.checkRaced(listed); err != nil {
		return err
	}
	listed = slices.DeleteFunc(listed, func(f folder) bool {
		return len(f.TestGoFiles)+len(f.XTestGoFiles) == 0 || (p.race != nil && p.tests(f) == "")
	})
	slices.SortStableFunc(listed, func(a, b folder) int { return cmp.Compare(b.testSize(), a.testSize()) })
	root, err := filepath.Abs("bin")
	if err != nil {
		return err
	}
	for n := 0; len(listed) > 0; n++ {
		into := filepath.Join(root, "tests", p.name, strconv.Itoa(n))
		set := distinct(listed, builtAtOnce)
		listed = slices.DeleteFunc(listed, func(f folder) bool { return slices.ContainsFunc(set, f.is) })
		if err := p.compile(ctx, r, into+string(filepath.Separator), set); err != nil {
			return err
		}
		for _, f := range set {
			built(program{part: p, pkg: f.ImportPath, folder: f.Dir, tests: p.tests(f), file: filepath.Join(into, path.Base(f.ImportPath)+".test")})
		}
	}
	return nil
}

// distinct returns the first n folders without those that have the name of one before, since
// their programs would have the same name.
func distinct(listed []folder, n int) (set []folder) {
	for _, f := range listed {
		namesake := func(other folder) bool { return path.Base(other.ImportPath) == path.Base(f.ImportPath) }
		if len(set) < n && !slices.ContainsFunc(set, namesake) {
			set = append(set, f)
		}
	}
	return set
}

func (p part) compile(ctx context.Context, r *report, into string, packages []folder) error {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", into} // the linters vet; nobody debugs these programs
	if p.race != nil {
		args = append(args, "-race")
	}
	// With cold caches it would take the processors from the tests that run, until their stores do not
	// answer in time.
	args = append([]string{"-n", "6", "go"}, args...)
	for _, f := range packages {
		args = append(args, f.ImportPath)
	}
	command := exec.CommandContext(ctx, "nice", args...)
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

func (f folder) is(other folder) bool { return f.ImportPath == other.ImportPath }

// testSize returns how many bytes of tests a package has, which tells about how long they take.
func (f folder) testSize() (n int64) {
	for _, name := range slices.Concat(f.TestGoFiles, f.XTestGoFiles) {
		if info, err := os.Stat(filepath.Join(f.Dir, name)); err == nil {
			n += info.Size()
		}
	}
	return n
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
