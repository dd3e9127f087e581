package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// slow is the duration from which a test's time is printed.
const slow = 10 * time.Second

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// outcomes has the results of the tests of one call of go test.
type outcomes struct {
	out     io.Writer
	actions map[testName]string // the last one: pass, skip, fail, or what a test that did not end was last told: run, pause, cont
	reasons map[testName]string // why a test skipped itself
	texts   map[testName]*strings.Builder
	late    map[string]bool // the packages whose time is up
	failed  []error         // the tests and packages that failed, in their order
}

// runPart calls go test. It prints a line for each package, each slow test, and everything
// that failing tests print. Its error names each failing test with its reason, for
// the end of a long output.
func runPart(out io.Writer, args ...string) (*outcomes, error) {
	began := time.Now()
	o := &outcomes{
		out: out, actions: make(map[testName]string), reasons: make(map[testName]string),
		texts: make(map[testName]*strings.Builder), late: make(map[string]bool),
	}
	command := exec.Command("go", append([]string{"test"}, args...)...) //nolint:names // the arguments are make's
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	if slices.Contains(args, "-race") {
		// The race detector would let each program sleep for a second before it ends.
		command.Env = append(os.Environ(), "CGO_ENABLED=1", "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return o, fmt.Errorf("go test: %w", err)
	}
	if err := command.Start(); err != nil {
		return o, fmt.Errorf("go test: %w", err)
	}
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			o.take(e)
		} else {
			_, _ = out.Write(line)
		}
		if err != nil {
			break
		}
	}
	err = command.Wait()
	// The time of the compiler and of the tests, with the programs that they wait for.
	computed := command.ProcessState.UserTime() + command.ProcessState.SystemTime()
	fmt.Fprintf(out, "-- %s, with %s of processor time\n", time.Since(began).Round(time.Second), computed.Round(time.Second))
	if err != nil {
		return o, errors.Join(fmt.Errorf("go test: %w", err), errors.Join(o.failed...))
	}
	return o, nil
}

// take applies one event.
func (o *outcomes) take(e event) {
	name := testName{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(o.out, e.Output)
	case "output":
		o.keep(name, e.Output)
	case "run", "pause", "cont":
		o.actions[name] = e.Action
	case "pass", "skip", "fail":
		if e.Test == "" {
			o.endPackage(e)
			return
		}
		o.actions[name] = e.Action
		o.endTest(name, e)
	}
}

// keep keeps what a test prints, until the test ends. What a package prints when its time is
// up is no test's, although it comes under the name of the last test that ended. It is
// printed at once.
func (o *outcomes) keep(name testName, text string) {
	if strings.HasPrefix(text, "=== ") {
		return
	}
	if strings.HasPrefix(text, "panic: test timed out") {
		o.late[name.pkg] = true
	}
	if o.late[name.pkg] {
		fmt.Fprint(o.out, text)
		return
	}
	if o.texts[name] == nil {
		o.texts[name] = &strings.Builder{}
	}
	o.texts[name].WriteString(text)
}

// text returns what a test or a package has printed, and forgets it.
func (o *outcomes) text(name testName) string {
	kept := o.texts[name]
	delete(o.texts, name)
	if kept == nil {
		return ""
	}
	return kept.String()
}

func (o *outcomes) endTest(name testName, e event) {
	text := o.text(name)
	switch {
	case e.Action == "fail":
		fmt.Fprint(o.out, text)
		o.failed = append(o.failed, fmt.Errorf("%s failed%s", name, why(text)))
	case e.Action == "skip":
		reason, _, _ := strings.Cut(text, "\n") // the line with SKIP comes next
		o.reasons[name] = strings.TrimSpace(reason)
	}
	if took := time.Duration(e.Elapsed * float64(time.Second)); took >= slow && name == name.top() {
		fmt.Fprintf(o.out, "   %s %s\n", name.test, took.Round(100*time.Millisecond))
	}
}

// why returns, in one line, why a test failed: what it printed from its first assertion on,
// or else what it printed last. It is empty if the test printed nothing of its own.
func why(text string) string {
	const most = 400 // bytes
	var lines []string
	first := -1 // the line that begins the first assertion of testify
	for line := range strings.Lines(text) {
		words := strings.Join(strings.Fields(line), " ")
		if words == "" || strings.HasPrefix(words, "--- FAIL: ") {
			continue
		}
		if first < 0 && strings.HasPrefix(words, "Error Trace:") {
			first = len(lines)
		}
		lines = append(lines, words)
	}
	if len(lines) == 0 {
		return ""
	}
	if first >= 0 {
		return ": " + strings.ToValidUTF8(head(strings.Join(lines[first:], " "), most), "")
	}
	return ": " + strings.ToValidUTF8(tail(strings.Join(lines, " "), most), "")
}

func head(s string, most int) string { return s[:min(len(s), most)] }
func tail(s string, most int) string { return s[max(0, len(s)-most):] }

// endPackage prints the line of a package that passed. Otherwise it prints everything
// that the package and its unfinished tests have printed.
func (o *outcomes) endPackage(e event) {
	text := o.text(testName{e.Package, ""})
	if e.Action != "fail" {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "ok ") {
				fmt.Fprint(o.out, line)
			}
		}
		return
	}
	for _, name := range slices.SortedFunc(maps.Keys(o.actions), compareNames) {
		if action := o.actions[name]; name.pkg == e.Package && (action == "run" || action == "cont") {
			fmt.Fprintf(o.out, "--- did not end: %s\n%s", name, o.text(name))
			o.failed = append(o.failed, fmt.Errorf("%s did not end", name))
		}
	}
	fmt.Fprint(o.out, text)
	o.failed = append(o.failed, fmt.Errorf("%s failed", e.Package))
}

// skippedTests names the test functions that skipped themselves, or a subtest.
func (o *outcomes) skippedTests() []testName {
	skipped := make(map[testName]bool)
	for name, action := range o.actions {
		if action == "skip" {
			skipped[name.top()] = true
		}
	}
	return slices.SortedFunc(maps.Keys(skipped), compareNames)
}
