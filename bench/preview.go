package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// previewEach is how many reservations a user of the preview has, at random times
// of a week.
const previewEach = 3

// recordsPrefix is where newTimelines keeps reservations with their records.
const recordsPrefix = "sr"

// previewRule is the rule of the previewed policy: some users have two reservations on
// a day.
const previewRule = "1/calendar_day"

// preview is the cost of `sendlimit-worker policy apply FILE --dry-run`.
type preview struct {
	machine string
	summary previewSummary
	took    time.Duration
	peak    int64         // bytes of the program
	scripts time.Duration // of Redis, in runs scripts
	runs    int
	scans   time.Duration // of Redis, in ZSCAN
	main    time.Duration // processor time of the main thread of Redis, with its reads and writes
	slowest time.Duration
	slower  time.Duration // faster scripts were not logged
}

// previewSummary is the last line that the program prints.
type previewSummary struct {
	Outcome      string `json:"outcome"`
	Users        int    `json:"users"`
	Reservations int    `json:"reservations"`
	MisfitUsers  int    `json:"misfit_users"`
	Misfits      int    `json:"misfits"`
}

// measurePreview fills a Redis with users who have reservations under the default
// policy, and lets the program list those that would not fit another policy.
func measurePreview(ctx context.Context, users int) (_ preview, err error) {
	p := preview{slower: 100 * time.Microsecond}
	if p.machine, err = describeMachine(ctx); err != nil {
		return p, err
	}
	s, err := openStore(ctx)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	program, err := buildProgram(ctx, "worker")
	if err != nil {
		return p, err
	}
	if err := s.fill(ctx, newSchedule(users, previewEach), users*previewEach, true); err != nil {
		return p, err
	}
	if err := s.seedPolicy(ctx, recordsPrefix); err != nil {
		return p, err
	}
	if err := p.run(ctx, s, program); err != nil {
		return p, err
	}
	if p.summary.Users != users || p.summary.Reservations != users*previewEach || p.summary.Misfits == 0 {
		return p, fmt.Errorf("the preview looked at %d reservations of %d users and found %d, not at %d of %d with some",
			p.summary.Reservations, p.summary.Users, p.summary.Misfits, users*previewEach, users)
	}
	return p, nil
}

// buildProgram builds a program into the folder bin of the project, as make build does: Go
// links none again that is there and up to date.
func buildProgram(ctx context.Context, name string) (program string, err error) {
	program, err = filepath.Abs(filepath.Join("..", "bin", name))
	if err != nil {
		return "", fmt.Errorf("folder for the program: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-C", "..", "-trimpath", "-o", program, "./cmd/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build cmd/%s, in the folder above: %w\n%s", name, err, output)
	}
	return program, nil
}

// run runs the program, and reads its cost from the server and the system.
func (p *preview) run(ctx context.Context, s *store, program string) error {
	if err := errors.Join(s.logSlow(ctx, p.slower), s.resetCommandTime(ctx)); err != nil {
		return err
	}
	before, err := s.mainThread(ctx)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, "policy", "apply", "-", "--dry-run", "--json")
	command.Dir = filepath.Dir(program)
	command.Env = []string{"REDIS_URL=" + s.server.URL(), "SENDLIMIT_PREFIX=" + recordsPrefix} // without the caller's settings
	command.Stdin, command.Stderr = strings.NewReader("rules: ["+previewRule+"]\n"), os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("output of the preview: %w", err)
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the preview: %w", err)
	}
	last, listed := "", -1
	lines := bufio.NewScanner(output)
	for ; lines.Scan(); listed++ {
		last = lines.Text()
		if listed%peakEvery == 0 {
			p.peak = max(p.peak, peakOf(command.Process.Pid))
		}
	}
	if err := errors.Join(lines.Err(), command.Wait()); err != nil {
		return fmt.Errorf("preview: %w", err)
	}
	p.took = time.Since(began)
	if err := json.Unmarshal([]byte(last), &p.summary); err != nil {
		return fmt.Errorf("last line of the preview: %w", err)
	}
	if listed != p.summary.Misfits {
		return fmt.Errorf("the preview listed %d reservations and counted %d", listed, p.summary.Misfits)
	}
	after, err := s.mainThread(ctx)
	if err != nil {
		return err
	}
	p.main = after - before
	if p.scripts, p.runs, err = s.scriptTime(ctx); err != nil {
		return err
	}
	if p.scans, err = s.timeOf(ctx, "zscan"); err != nil {
		return err
	}
	p.slowest, _, err = s.slowest(ctx)
	return err
}

// peakEvery is how many lines of the preview pass between two looks at its memory.
const peakEvery = 256

// peakOf returns the peak memory of a process so far, in bytes; 0 if the system does
// not report it. For a process that has ended, the system would include the memory of
// its parent.
func peakOf(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// mainThread returns the processor time that the server's main thread has used.
func (s *store) mainThread(ctx context.Context) (time.Duration, error) {
	info, err := s.info(ctx, "cpu")
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, field := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		seconds, err := strconv.ParseFloat(info[field], 64)
		if err != nil {
			return 0, fmt.Errorf("%s of INFO cpu: %w", field, err)
		}
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum, nil
}

// markdown returns the preview as README.md has it.
func (p preview) markdown() string {
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(p.summary.Users) }
	slowest := fmt.Sprintf("%.1f ms", p.slowest.Seconds()*1000)
	if p.slowest == 0 {
		slowest = fmt.Sprintf("< %.1f ms", p.slower.Seconds()*1000)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n", p.machine)
	fmt.Fprintf(&b, "%d users with %d reservations each, made under the default policy, of which %d, of %d users, do not fit `%s`:\n\n",
		p.summary.Users, previewEach, p.summary.Misfits, p.summary.MisfitUsers, previewRule)
	for _, line := range [][]string{
		{"what", "in all", "a user"},
		{"---", "---", "---"},
		{"peak memory of the program", fmt.Sprintf("%.1f MiB", float64(p.peak)/(1<<20)), ""},
		{"Redis time in scripts", fmt.Sprintf("%.1f s", p.scripts.Seconds()), fmt.Sprintf("%.1f µs", each(p.scripts))},
		{"Redis time in ZSCAN", fmt.Sprintf("%.2f s", p.scans.Seconds()), fmt.Sprintf("%.2f µs", each(p.scans))},
		{"processor time of the main thread of Redis", fmt.Sprintf("%.1f s", p.main.Seconds()), fmt.Sprintf("%.1f µs", each(p.main))},
		{"from start to end, rests included", fmt.Sprintf("%.1f s", p.took.Seconds()), fmt.Sprintf("%.1f µs", each(p.took))},
		{"the slowest script call", slowest, ""},
	} {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(line, " | "))
	}
	fmt.Fprintf(&b, "\nRedis was busy with it for %.0f %% of the time.\n", 100*p.main.Seconds()/p.took.Seconds())
	return b.String()
}

// A new preview replaces the text between these lines.
const (
	previewFrom  = "<!-- last preview -->\n"
	previewUntil = "<!-- end of the last preview -->\n"
)

// runPreview measures, prints, and saves the figures to a file, "" for none.
func runPreview(ctx context.Context, users int, save string, stdout io.Writer) error {
	p, err := measurePreview(ctx, users)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, p.markdown()); err != nil {
		return fmt.Errorf("print the preview: %w", err)
	}
	if save == "" {
		return nil
	}
	return saveBetween(save, previewFrom, previewUntil, p.markdown())
}
