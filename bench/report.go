package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
)

// report has the measurements of a run.
type report struct {
	Machine string  `json:"machine"`
	Sizes   string  `json:"sizes"`
	Seconds float64 `json:"seconds"`
	Rows    []row   `json:"rows"`
}

// row is a line of the table.
type row struct {
	Name     string   `json:"name"`
	What     string   `json:"what"`
	Goal     string   `json:"goal"`
	Measured string   `json:"measured"`
	Verdict  verdict  `json:"verdict"`
	Figures  []string `json:"figures"` // the numbers behind Measured
}

// verdict is whether a row meets its target.
type verdict string

const (
	ok     verdict = "reached"
	behind verdict = "not reached"
	stated verdict = "–" // a figure without a target
)

func judge(holds bool) verdict {
	if holds {
		return ok
	}
	return behind
}

// atMost makes a row for a ratio with an upper limit.
func atMost(name, what string, ratio, limit float64, figures ...string) row {
	return row{
		Name: name, What: what, Goal: fmt.Sprintf("≤ %g ×", limit),
		Measured: fmt.Sprintf("%.2f ×", ratio), Verdict: judge(ratio <= limit), Figures: figures,
	}
}

// atLeast makes a row for a ratio with a lower limit.
func atLeast(name, what string, ratio, limit float64, figures ...string) row {
	return row{
		Name: name, What: what, Goal: fmt.Sprintf("≥ %g ×", limit),
		Measured: fmt.Sprintf("%.2f ×", ratio), Verdict: judge(ratio >= limit), Figures: figures,
	}
}

// state makes a row without a target.
func state(name, what, measured string, figures ...string) row {
	return row{Name: name, What: what, Goal: "–", Measured: measured, Verdict: stated, Figures: figures}
}

// markdown returns the report as README.md has it.
func (r report) markdown() string {
	cells := [][]string{{"what", "goal", "measured", ""}}
	for _, row := range r.Rows {
		cells = append(cells, []string{row.What, row.Goal, row.Measured, string(row.Verdict)})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; %s sizes, %.0f s.\n\n", r.Machine, r.Sizes, r.Seconds)
	for i, line := range cells {
		writeCells(&b, line, widths)
		if i == 0 {
			rule := make([]string, len(widths))
			for k, width := range widths {
				rule[k] = strings.Repeat("-", max(width, 3))
			}
			writeCells(&b, rule, widths)
		}
	}
	b.WriteString("\nWhat the figures are made of:\n\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "- `%s`: %s\n", row.Name, strings.Join(row.Figures, "; "))
	}
	return b.String()
}

func writeCells(b *strings.Builder, cells []string, widths []int) {
	for i, cell := range cells {
		fmt.Fprintf(b, "| %-*s ", widths[i], cell)
	}
	b.WriteString("|\n")
}

// save replaces the text between these lines.
const (
	saveFrom  = "<!-- last run -->\n"
	saveUntil = "<!-- end of the last run -->\n"
)

// save replaces the last report in a Markdown file.
func (r report) save(path string) error {
	return saveBetween(path, saveFrom, saveUntil, r.markdown())
}

// saveBetween replaces the text between two lines of a file, and keeps the rest.
func saveBetween(path, from, until, text string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("save the figures: %w", err)
	}
	before, rest, began := strings.Cut(string(document), from)
	_, after, ended := strings.Cut(rest, until)
	if !began || !ended {
		return fmt.Errorf("save the figures: %s has no lines %q and %q", path, from, until)
	}
	replaced := before + from + "\n" + text + "\n" + until + after
	if err := os.WriteFile(path, []byte(replaced), 0o644); err != nil {
		return fmt.Errorf("save the figures: %w", err)
	}
	return nil
}

// describeMachine describes the machine, without its host name.
func describeMachine(ctx context.Context) (text string, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	server, err := s.info(ctx, "server")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d cores (%s/%s), Go %s, Redis %s, %s",
		time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		strings.TrimPrefix(runtime.Version(), "go"), server["redis_version"], peers()), nil
}

// peers returns the names and versions of the compared libraries, and of the client.
func peers() string {
	build, _ := debug.ReadBuildInfo()
	var named []string
	for _, module := range build.Deps {
		switch module.Path {
		case "github.com/go-redis/redis_rate/v10", "github.com/hibiken/asynq", "github.com/redis/go-redis/v9":
			named = append(named, strings.TrimPrefix(module.Path, "github.com/")+" "+module.Version)
		}
	}
	return strings.Join(named, ", ")
}
