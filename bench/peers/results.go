package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// series are the figures of the rounds of a cell.
type series []float64

func (s *series) add(v float64) { *s = append(*s, v) }

func (s series) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// rates are the figures of submits or deliveries.
type rates struct {
	PerSecond   series `json:"per_second"`
	P99         series `json:"p99_ms,omitempty"`
	StoreMicros series `json:"store_us"` // processor time a message
	SideMicros  series `json:"side_us"`
}

// lateness has milliseconds.
type lateness struct {
	P50 series `json:"p50_ms"`
	P99 series `json:"p99_ms"`
	Max series `json:"max_ms"`
}

// sideResult has the figures of a side.
type sideResult struct {
	Name           string   `json:"name"`
	Settings       string   `json:"settings"`
	Store          string   `json:"store"`
	Durable        string   `json:"durable"` // settings of the durable store
	Lines          int      `json:"lines"`
	Submits        rates    `json:"submits"`
	DurableSubmits rates    `json:"durable_submits"`
	Bytes          series   `json:"bytes"`
	Deliveries     rates    `json:"deliveries"`
	Late           lateness `json:"late"`
	LatePending    lateness `json:"late_pending"`
	Early          int      `json:"early"` // of those due in the cells of lateness
	Due            int      `json:"due"`
	Wrong          wrong    `json:"wrong"`
	RealPerSecond  float64  `json:"real_per_second"`
	Crash          crash    `json:"crash"`
	Outage         outage   `json:"outage"`
}

// results are the figures of a run.
type results struct {
	Date    string       `json:"date"`
	Machine string       `json:"machine"`
	Note    string       `json:"note,omitempty"` // about the run, for the page
	Pinned  bool         `json:"pinned"`
	Seconds float64      `json:"seconds"`
	Sizes   sizes        `json:"sizes"`
	Sides   []sideResult `json:"sides"`
}

// sizes are how much each cell does.
type sizes struct {
	Submits      int `json:"submits"`
	SubmitRounds int `json:"submit_rounds"`
	Herd         int `json:"herd"`
	HerdRounds   int `json:"herd_rounds"`
	Late         int `json:"late"`
	PerSecond    int `json:"per_second"`
	LateRounds   int `json:"late_rounds"`
	Pending      int `json:"pending"`
	Crash        int `json:"crash"`
	CrashWait    int `json:"crash_wait"` // seconds
	Pairs        int `json:"pairs"`
	RealLines    int `json:"real_lines"` // zero means all
}

// crashWait is for how many seconds after the last kill deliveries count. asynq takes up a task 30 s after
// its lease of 30 s has ended, and looks for such once a minute.
const crashWait = 130

func fullSizes() sizes {
	return sizes{
		Submits: 20_000, SubmitRounds: 5, Herd: 30_000, HerdRounds: 3, Late: 2_000, PerSecond: 200, LateRounds: 2,
		Pending: 100_000, Crash: 5_000, CrashWait: crashWait, Pairs: 200,
	}
}

func quickSizes() sizes {
	return sizes{
		Submits: 2_000, SubmitRounds: 1, Herd: 2_000, HerdRounds: 1, Late: 400, PerSecond: 200, LateRounds: 1,
		Pending: 2_000, Crash: 1_000, CrashWait: crashWait, Pairs: 50, RealLines: 5_000,
	}
}

// limit makes no cell longer than some rounds, unless they are zero.
func (s *sizes) limit(rounds int) {
	if rounds > 0 {
		s.SubmitRounds, s.HerdRounds, s.LateRounds = min(s.SubmitRounds, rounds), min(s.HerdRounds, rounds), min(s.LateRounds, rounds)
	}
}

func readResults(path string) (results, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return results{}, fmt.Errorf("read the figures: %w", err)
	}
	var r results
	if err := json.Unmarshal(content, &r); err != nil {
		return results{}, fmt.Errorf("read the figures: %w", err)
	}
	return r, nil
}

func (r results) write(path string) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return nil
}
