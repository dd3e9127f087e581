package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// most is how many of the slowest tests are listed.
const most = 10

// A report prints how each package ends, and at the end the cost of the run, the slowest and the
// skipped tests, and the failures.
type report struct {
	out   io.Writer
	began time.Time

	mu       sync.Mutex
	order    []string                 // of parts
	costs    map[string]time.Duration // processor time of each part
	slowest  []timed
	skipped  []string
	failures []string
	passed   int
	failed   int
}

type timed struct {
	test string
	took time.Duration
}

func newReport(out io.Writer) *report {
	return &report{out: out, began: time.Now(), costs: make(map[string]time.Duration)}
}

func (r *report) print(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format+"\n", args...)
}

// fail records a failure for the end of the output, and prints its text.
func (r *report) fail(what, text string) {
	r.print("FAIL %s\n%s", what, text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	r.failures = append(r.failures, what+why(text))
}

// spent adds the processor time of a process, and of the processes that it waited for, to a part.
func (r *report) spent(part string, state *os.ProcessState) time.Duration {
	if state == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.order, part) {
		r.order = append(r.order, part)
	}
	used := state.UserTime() + state.SystemTime()
	r.costs[part] += used
	return used
}

// test records the end of a test, or of a subtest.
func (r *report) test(p program, e event, text string) {
	name := p.pkg + " " + e.Test
	if e.Action == "fail" {
		r.fail(name, text)
		return
	}
	if strings.Contains(e.Test, "/") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Action == "skip" {
		reason, _, _ := strings.Cut(text, "\n") // the line with SKIP comes next
		r.skipped = append(r.skipped, name+": "+strings.TrimSpace(reason))
		return
	}
	r.passed++
	r.slowest = append(r.slowest, timed{name, time.Duration(e.Elapsed * float64(time.Second))})
}

// ended records the end of a program.
func (r *report) ended(p program, ended *result) {
	used := r.spent(p.part.name, ended.state)
	label := p.pkg
	if p.part.race != nil {
		label += " under the race detector"
	}
	switch {
	case ended.failed > 0:
		r.print("FAIL %s\n%s", label, ended.text(""))
	case ended.err != nil:
		r.fail(label, ended.text("")+ended.err.Error())
	case ended.ran == 0:
		r.fail(label, "none of its tests ran")
	default:
		r.print("ok   %s (%.1f s of processor time)", label, used.Seconds())
	}
}

// end prints the summary and returns whether tests ran, and all of them passed.
func (r *report) end() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.slowest, func(a, b timed) int { return cmp.Compare(b.took, a.took) })
	fmt.Fprintf(r.out, "-- the slowest tests\n")
	for _, s := range r.slowest[:min(most, len(r.slowest))] {
		fmt.Fprintf(r.out, "   %6.1f s  %s\n", s.took.Seconds(), s.test)
	}
	fmt.Fprintf(r.out, "-- processor time, with that of the compiler\n")
	for _, part := range r.order {
		fmt.Fprintf(r.out, "   %6.1f s  %s\n", r.costs[part].Seconds(), part)
	}
	var all syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &all)
	total := time.Duration(all.Utime.Nano() + all.Stime.Nano())
	fmt.Fprintf(r.out, "   %6.1f s  in total, in %s\n", total.Seconds(), time.Since(r.began).Round(time.Second))
	slices.Sort(r.skipped)
	for _, s := range r.skipped {
		fmt.Fprintf(r.out, "-- skipped: %s\n", s)
	}
	for _, f := range r.failures {
		fmt.Fprintf(r.out, "-- failed: %s\n", f)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skipped))
	return r.failed == 0 && r.passed > 0
}

// why returns, in one line, why a test failed: its output from the first assertion on, or else its
// last output. It is "" if the test printed nothing.
func why(text string) string {
	const most = 400 // bytes
	var lines []string
	first := -1 // the first line of the first assertion of testify
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
