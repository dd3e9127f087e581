package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// histories is how many random histories a test compares with a model.
	histories = 15
	// maxTime is how long the tests of a package may take.
	maxTime = 30 * time.Minute
)

// A program is the built tests of a package.
type program struct {
	part         part
	pkg          string
	folder, file string
	tests        string // a pattern; all if empty
}

// event is a line of test2json.
type event struct {
	Action  string
	Test    string
	Output  string
	Elapsed float64 // seconds
}

// result is the outcome of a program.
type result struct {
	state       *os.ProcessState
	err         error
	texts       map[string]*strings.Builder // output of each test that has not ended, and under "" of the program
	ran, failed int                         // tests and subtests
}

// run runs a program and reports the end of each of its tests.
func (p program) run(ctx context.Context, test2json string, seed uint64, r *report) *result {
	args := []string{
		"-t", "-p", p.pkg, p.file, "-test.v=test2json", "-test.paniconexit0",
		"-test.timeout=" + cmp.Or(p.part.timeout, maxTime).String(), "-test.shuffle=" + strconv.FormatUint(seed, 10),
	}
	if p.part.parallel > 0 {
		args = append(args, "-test.parallel="+strconv.Itoa(p.part.parallel))
	}
	if p.tests != "" {
		args = append(args, "-test.run="+p.tests)
	}
	if !p.part.waits {
		test2json, args = "nice", slices.Concat([]string{"-n", "4", test2json}, args)
	}
	ended := &result{texts: make(map[string]*strings.Builder)}
	command := exec.CommandContext(ctx, test2json, args...)
	command.Dir, command.Env, command.Stderr = p.folder, append(p.part.environment(seed), "PWD="+p.folder), os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // to end a program with its children
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		ended.err = err
		return ended
	}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			ended.take(p, e, r)
		}
		if err != nil {
			break
		}
	}
	ended.err = command.Wait()
	ended.state = command.ProcessState
	for _, test := range running(ended.text("")) {
		ended.test(p, event{Action: "fail", Test: test}, r)
	}
	return ended
}

const timedOut = "panic: test timed out"

// running returns the tests that were running when the time of a program was up, from its output.
func running(text string) (tests []string) {
	_, text, _ = strings.Cut(text, timedOut)
	_, text, _ = strings.Cut(text, "\n\trunning tests:\n")
	for line := range strings.Lines(text) {
		name, isOne := strings.CutPrefix(line, "\t\t")
		if !isOne {
			break
		}
		name, _, _ = strings.Cut(name, " (")
		tests = append(tests, name)
	}
	return tests
}

// take applies an event. Output after the time was up belongs to no test, and test2json then
// reports the test with the last output as failed.
func (ended *result) take(p program, e event, r *report) {
	switch e.Action {
	case "output":
		if strings.HasPrefix(e.Output, "=== ") {
			return
		}
		if strings.HasPrefix(e.Output, timedOut) || strings.Contains(ended.text(""), timedOut) {
			e.Test = ""
		}
		if ended.texts[e.Test] == nil {
			ended.texts[e.Test] = &strings.Builder{}
		}
		ended.texts[e.Test].WriteString(e.Output)
	case "pass", "skip", "fail":
		if e.Test != "" && !strings.Contains(ended.text(""), timedOut) {
			ended.test(p, e, r)
		}
	}
}

// test applies the end of a test.
func (ended *result) test(p program, e event, r *report) {
	ended.ran++
	if e.Action == "fail" {
		ended.failed++
	}
	r.test(p, e, ended.text(e.Test))
	delete(ended.texts, e.Test)
}

func (ended *result) text(test string) string {
	if text := ended.texts[test]; text != nil {
		return text.String()
	}
	return ""
}

// environment returns the environment of the tests and of the compiler.
func (p part) environment(seed uint64) []string {
	text := strconv.FormatUint(seed, 10)
	env := append(os.Environ(), "RAPID_SEED="+text, "SENDLIMIT_TEST_SEED="+text)
	if os.Getenv("RAPID_CHECKS") == "" {
		env = append(env, "RAPID_CHECKS="+strconv.Itoa(histories))
	}
	if p.race != nil {
		// The race detector would make each program sleep for a second before it ends.
		return append(env, "CGO_ENABLED=1", "GORACE=atexit_sleep_ms=10 "+os.Getenv("GORACE"))
	}
	return append(env, "CGO_ENABLED=0") // as make build does
}
