// Testrun runs every test of some packages once: the short tests under the race
// detector, then the long ones without it. It fails when a test fails, and when
// a test of the packages ran in neither part.
//
// A test is long when it skips itself in short mode; see sendlimittest.Long.
// What the first part skipped, the second part runs.
//
//	testrun [-parallel n] [-norace] [-timeout d] PACKAGE...
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	parallel := flag.Int("parallel", 0, "how many tests of a package run at a time; 0 for as many as there are processors")
	norace := flag.Bool("norace", false, "run all tests in one part, without the race detector")
	timeout := flag.Duration("timeout", 15*time.Minute, "how long the tests of a package may take in a part")
	flag.Parse()
	if err := runAll(os.Stdout, flag.Args(), *parallel, *norace, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// testName is a test function, or a subtest, of a package.
type testName struct{ pkg, test string }

// top returns the test function of a subtest.
func (n testName) top() testName {
	test, _, _ := strings.Cut(n.test, "/")
	return testName{n.pkg, test}
}

func (n testName) String() string { return n.pkg + " " + n.test }

func compareNames(a, b testName) int {
	return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test))
}

// runAll runs the tests of the packages and counts them.
func runAll(out io.Writer, packages []string, parallel int, norace bool, timeout time.Duration) error {
	declared, err := listTests(packages)
	if err != nil {
		return err
	}
	flags := []string{"-json", "-vet=off", "-shuffle=on", "-timeout=" + timeout.String(), "-ldflags=-w"} // the linters vet; nobody debugs these binaries
	if parallel > 0 {
		flags = append(flags, fmt.Sprintf("-parallel=%d", parallel))
	}
	if norace {
		all, err := runPart(out, append(flags, packages...)...)
		if err != nil {
			return err
		}
		return count(out, declared, all)
	}
	short, failed := runPart(out, slices.Concat([]string{"-race", "-short"}, flags, packages)...)
	long := &outcomes{}
	if left := short.skippedTests(); len(left) > 0 {
		var names, of []string
		for _, n := range left {
			names, of = append(names, n.test), append(of, n.pkg)
		}
		slices.Sort(names)
		fmt.Fprintf(out, "-- %d long tests, without the race detector\n", len(left))
		pattern := "-run=^(" + strings.Join(slices.Compact(names), "|") + ")$"
		var again error
		long, again = runPart(out, slices.Concat(flags, []string{pattern}, slices.Compact(of))...)
		failed = errors.Join(failed, again)
	}
	if failed != nil {
		return failed
	}
	return count(out, declared, short, long)
}

// listTests reads the names of all test functions in the packages' files.
func listTests(packages []string) (map[testName]bool, error) {
	list := exec.Command("go", append([]string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, packages...)...) //nolint:names // the arguments are make's
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(\w+ \*testing\.[TF]\)`)
	tests := make(map[testName]bool)
	for decoder := json.NewDecoder(strings.NewReader(string(text))); decoder.More(); {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&p); err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			source, err := os.ReadFile(filepath.Join(p.Dir, file))
			if err != nil {
				return nil, err //nolint:wrapcheck // it names the file
			}
			for _, match := range function.FindAllStringSubmatch(string(source), -1) {
				tests[testName{p.ImportPath, match[1]}] = true
			}
		}
	}
	return tests, nil
}

// count prints how many tests ran, and names those that skipped themselves in every
// part. It fails if a test did not even begin.
func count(out io.Writer, declared map[testName]bool, parts ...*outcomes) error {
	ran := 0
	var forgotten []error
	for _, name := range slices.SortedFunc(maps.Keys(declared), compareNames) {
		began, reason := false, ""
		for _, part := range parts {
			if _, did := part.actions[name]; did {
				began, reason = true, part.reasons[name]
			}
		}
		switch {
		case !began:
			forgotten = append(forgotten, fmt.Errorf("%s did not run", name))
		case reason != "":
			fmt.Fprintf(out, "   skipped: %s: %s\n", name, reason)
		default:
			ran++
		}
	}
	fmt.Fprintf(out, "-- %d of %d tests ran\n", ran, len(declared))
	return errors.Join(forgotten...)
}
