package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// The project's README has a small table of the figures, which begins with this line.
const (
	readme    = "../../README.md"
	smallHead = "| side by side | wrong answers | submits a second | deliveries a second | late, p99 | too close after an outage |\n"
)

// small returns the table: each way to build it, once.
func (r results) small() string {
	var b strings.Builder
	b.WriteString(smallHead + "| --- | --- | --- | --- | --- | --- |\n")
	for _, side := range r.Sides {
		if side.Name == "sendlimit-api" {
			continue
		}
		title := titleOf(side.Name)
		if side.Name == "sendlimit" {
			title = "**sendlimit**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s ms | %s |\n", title,
			count(side.Wrong.Against+side.Wrong.Fitting), number(side.Submits.PerSecond.median()),
			number(side.Deliveries.PerSecond.median()), number(side.Late.P99.median()), side.tooClose(r.Sizes.Pairs))
	}
	return b.String()
}

// tooClose tells how many second messages came too close after an outage.
func (s sideResult) tooClose(users int) string {
	if s.Outage.Accepted <= users {
		return "refused at submit"
	}
	return fmt.Sprintf("%s of %s", count(s.Outage.TooClose), count(users))
}

// replaceSmall returns a text with another small table.
func replaceSmall(text, table string) (string, error) {
	before, rest, found := strings.Cut(text, smallHead)
	if !found {
		return "", fmt.Errorf("there is no table with the heading %q", smallHead)
	}
	lines := slices.Collect(strings.Lines(rest))
	for len(lines) > 0 && strings.HasPrefix(lines[0], "|") {
		lines = lines[1:]
	}
	return before + table + strings.Join(lines, ""), nil
}

// saveSmall puts the table into a file.
func (r results) saveSmall(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("write the small table: %w", err)
	}
	replaced, err := replaceSmall(string(text), r.small())
	if err != nil {
		return fmt.Errorf("write the small table into %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(replaced), 0o644); err != nil {
		return fmt.Errorf("write the small table: %w", err)
	}
	return nil
}
