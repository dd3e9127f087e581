package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// realFile has real sends; README.md says where it comes from.
const realFile = "../sends.csv.gz"

// run is the program: it measures, and writes the page. It runs in its own folder.
func run(ctx context.Context, args []string, progress io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(progress)
	quick := flags.Bool("quick", false, "small sizes: figures that say little, which no page gets")
	only := flags.String("only", "", "measure only these sides, by `names` with commas; no page gets the figures")
	rounds := flags.Int("rounds", 0, "at most so `many` rounds a cell; zero means as many as it has")
	note := flags.String("note", "", "a `sentence` about the run, for the page")
	page := flags.Bool("page", false, "measure nothing: write README.md and the plots from results.json")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return fmt.Errorf("arguments: %w", err)
	}
	if *page {
		r, err := readResults("results.json")
		if err != nil {
			return err
		}
		return errors.Join(r.publish("."), r.saveSmall(readme))
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if names := missing(chosen); len(names) > 0 {
		return fmt.Errorf("some sides need other programs: apt-get install %s", strings.Join(names, " "))
	}
	size := fullSizes()
	if *quick {
		size = quickSizes()
	}
	size.limit(*rounds)
	r, err := measure(ctx, chosen, size, progress)
	if err != nil {
		return err
	}
	r.Note = *note
	if *quick || *only != "" {
		return r.write(filepath.Join(os.TempDir(), "peers-results.json"))
	}
	return errors.Join(r.write("results.json"), r.publish("."), r.saveSmall(readme))
}

// choose returns the sides by their names, all for "".
func choose(names string) ([]spec, error) {
	all := sides()
	if names == "" {
		return all, nil
	}
	var chosen []spec
	for name := range strings.SplitSeq(names, ",") {
		at := slices.IndexFunc(all, func(s spec) bool { return s.name == name })
		if at < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.name)
			}
			return nil, fmt.Errorf("-only %q is no side; there are %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

// measure builds the sides and runs all cells.
func measure(ctx context.Context, chosen []spec, size sizes, progress io.Writer) (_ results, err error) {
	began := time.Now()
	folder, err := os.MkdirTemp("", "peers-")
	if err != nil {
		return results{}, fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	here, err := os.Getwd()
	if err != nil {
		return results{}, fmt.Errorf("find the sides: %w", err)
	}
	_, noTaskset := exec.LookPath("taskset")
	h := &harness{folder: folder, cores: pins{noTaskset == nil && runtime.NumCPU() > 1}}
	r := results{
		Date: began.UTC().Format(time.DateOnly), Pinned: h.cores.pinned, Sizes: size, Sides: make([]sideResult, len(chosen)),
		Machine: fmt.Sprintf("%d cores (%s/%s), %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()),
	}
	for i := range chosen {
		fmt.Fprintf(progress, "build %s\n", chosen[i].name)
		if err := chosen[i].build(ctx, here, folder); err != nil {
			return results{}, err
		}
		r.Sides[i].Name = chosen[i].name
		if r.Sides[i].Lines, err = chosen[i].lines(here); err != nil {
			return results{}, err
		}
	}
	if err := h.measureAll(ctx, chosen, &r, progress); err != nil {
		return results{}, err
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// measureAll runs the cells. The sides take turns, so that a change of the machine meets all of them.
func (h *harness) measureAll(ctx context.Context, chosen []spec, r *results, progress io.Writer) error {
	size := r.Sizes
	lines, err := realSends(realFile)
	if err != nil {
		return err
	}
	if size.RealLines > 0 {
		lines = lines[:size.RealLines]
	}
	for _, cell := range []struct {
		name   string
		rounds int
		run    func(s spec, r *sideResult) error
	}{
		{"submit", size.SubmitRounds, func(s spec, r *sideResult) error { return h.measureSubmit(ctx, s, r, size.Submits, false) }},
		{"submit, durable", size.SubmitRounds, func(s spec, r *sideResult) error { return h.measureSubmit(ctx, s, r, size.Submits, true) }},
		{"herd", size.HerdRounds, func(s spec, r *sideResult) error { return h.measureHerd(ctx, s, r, size.Herd) }},
		{"lateness", size.LateRounds, func(s spec, r *sideResult) error { return h.measureLateness(ctx, s, r, size.Late, size.PerSecond, 0) }},
		{"lateness, others pending", 1, func(s spec, r *sideResult) error {
			return h.measureLateness(ctx, s, r, size.Late, size.PerSecond, size.Pending)
		}},
		{"wrong answers", 1, func(s spec, r *sideResult) error { return h.measureWrong(ctx, s, r, lines) }},
	} {
		for round := range cell.rounds {
			for i, s := range chosen {
				began := time.Now()
				if err := cell.run(s, &r.Sides[i]); err != nil {
					return fmt.Errorf("%s of %s: %w", cell.name, s.name, err)
				}
				fmt.Fprintf(progress, "%s, round %d, %s (%.0f s)\n", cell.name, round+1, s.name, time.Since(began).Seconds())
			}
		}
	}
	return h.measureFailures(ctx, chosen, r, progress)
}

// measureFailures runs the cells in which something is away. They mostly wait, so all sides run at the
// same time.
func (h *harness) measureFailures(ctx context.Context, chosen []spec, r *results, progress io.Writer) error {
	const apart = 4 * time.Second
	began := time.Now()
	errs := make([]error, 2*len(chosen))
	var all sync.WaitGroup
	for i, s := range chosen {
		all.Go(func() {
			// The herds of two sides are not due at the same time.
			if errs[2*i] = pause(ctx, time.Duration(i)*apart); errs[2*i] == nil {
				errs[2*i] = h.measureCrash(ctx, s, &r.Sides[i], r.Sizes.Crash, time.Duration(r.Sizes.CrashWait)*time.Second)
			}
		})
		all.Go(func() { errs[2*i+1] = h.measureOutage(ctx, s, &r.Sides[i], r.Sizes.Pairs) })
	}
	all.Wait()
	fmt.Fprintf(progress, "kill -9 and outages (%.0f s)\n", time.Since(began).Seconds())
	return errors.Join(errs...)
}
