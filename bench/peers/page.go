package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const head = `# Side by side

What would you build instead of sendlimit? A queue, and a limiter of your own. Here are four ways to do that, each tuned as its own documentation advises, beside this project as a library and as a service. All have the same rules: at most 1 message in a minute, 5 in an hour and 10 in a day of UTC for each user, at the time at which a message is sent.

This page is written by ` + "`make bench-peers`" + `, which repeats everything in at most 40 minutes on two processors. It needs Linux, Go, ` + "`redis-server`" + `, Node.js with npm, and PostgreSQL, and installs them on Debian.

`

const method = `## How it is measured

- Each side is a program in a folder here, with dependencies of its own, and speaks one protocol (package [side](side/protocol.go)). It uses public interfaces of its product only.
- Each cell starts an empty store of its own. The sides take turns in every round, so that a busy machine meets all of them. The table shows medians, the plots also the range of the rounds.
- In every round each accepted message must be pending after the submits, and delivered exactly once if nothing was killed. Otherwise the run fails.
- A delivery is one write to a file, which survives a kill. sendlimit's API delivers to a webhook over HTTP, so it also makes a request for each message.
- The real file is [sends.csv.gz](../sends.csv.gz): %s sends, drawn from the public author times of one large open-source repository's commits. Each author and year is one user; names are replaced by numbers. They are out of order and come in bursts.
- All stores of Redis have the same settings, and programs in Go at most 128 connections to it. Polls, leases and retries of the others are shorter than their defaults where they can be set, so that they are late less and recover sooner.
- Failures of all sides are measured at the same time, since they mostly wait. Their herds are due one after the other.

Left out: 1,000,000 pending messages, several messages a user in the cells of speed (the two sides whose limiters count calls would refuse them), and gubernator, which needs a service of its own beside the queue and counts calls, too.

`

// publish writes the page and its plots into a folder.
func (r results) publish(folder string) error {
	plots := filepath.Join(folder, "plots")
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	for _, f := range figures() {
		if err := os.WriteFile(filepath.Join(plots, f.file+".svg"), []byte(r.plot(f)), 0o644); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte(r.page()), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func (r results) plot(f figure) string {
	var bars []bar
	for _, side := range r.Sides {
		s := f.of(side)
		bars = append(bars, bar{
			label: titleOf(side.Name), value: s.median(), low: s.low(), high: s.high(), ours: strings.HasPrefix(side.Name, "sendlimit"),
		})
	}
	return plot(f.title, f.unit, bars)
}

func titleOf(name string) string {
	all := sides()
	return all[slices.IndexFunc(all, func(s spec) bool { return s.name == name })].title
}

func (r results) page() string {
	var b strings.Builder
	b.WriteString(head)
	r.writeTable(&b)
	for _, f := range figures() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n![%s](plots/%s.svg)\n\n", f.question, f.text, f.title, f.file)
		switch f.file {
		case "wrong":
			r.writeWrong(&b)
		case "late":
			r.writeLate(&b)
		case "processor":
			r.writeProcessor(&b)
		case "recovery":
			r.writeCrash(&b)
		}
	}
	r.writeLosses(&b)
	b.WriteString("## What each side can't do\n\n")
	for _, s := range sides() {
		fmt.Fprintf(&b, "- **%s**: %s.\n", s.title, s.cannot)
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, method, number(float64(r.Sides[0].Wrong.Lines)))
	r.writeSettings(&b)
	return b.String()
}

func (r results) writeTable(b *strings.Builder) {
	all := figures()
	rows := [][]string{{""}}
	for _, side := range r.Sides {
		rows[0] = append(rows[0], titleOf(side.Name))
	}
	for _, f := range all {
		row := []string{f.column}
		for _, side := range r.Sides {
			cell := number(f.of(side).median()) + f.suffix
			if f.file == "outage" {
				cell = side.tooClose(r.Sizes.Pairs)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	writeRows(b, rows)
}

// writeRows writes a table; its first row is the heading.
func writeRows(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	b.WriteString("\n")
}

func (r results) writeWrong(b *strings.Builder) {
	rows := [][]string{{"", "accepted", "accepted against the rules", "refused that would have fitted", "lines a second"}}
	for _, side := range r.Sides {
		w := side.Wrong
		rows = append(rows, []string{
			titleOf(side.Name), count(w.Accepted), count(w.Against), count(w.Fitting), number(side.RealPerSecond),
		})
	}
	writeRows(b, rows)
}

func (r results) writeLate(b *strings.Builder) {
	rows := [][]string{{"", "median", "p99", "most", "early"}}
	for _, side := range r.Sides {
		rows = append(rows, []string{
			titleOf(side.Name), number(side.Late.P50.median()) + " ms", number(side.Late.P99.median()) + " ms",
			number(side.Late.Max.median()) + " ms", fmt.Sprintf("%s of %s", count(side.Early), count(side.Due)),
		})
	}
	writeRows(b, rows)
}

func (r results) writeProcessor(b *strings.Builder) {
	rows := [][]string{{"", "submit, store", "submit, side", "delivery, store", "delivery, side"}}
	for _, side := range r.Sides {
		row := []string{titleOf(side.Name)}
		for _, of := range []series{side.Submits.StoreMicros, side.Submits.SideMicros, side.Deliveries.StoreMicros, side.Deliveries.SideMicros} {
			row = append(row, number(of.median())+" µs")
		}
		rows = append(rows, row)
	}
	writeRows(b, rows)
}

func (r results) writeCrash(b *strings.Builder) {
	rows := [][]string{{
		"", "accepted", fmt.Sprintf("not delivered in %d s", r.Sizes.CrashWait), "doubled", "worker: last delivery, later than 5 s", "store: last delivery, later than 5 s",
	}}
	for _, side := range r.Sides {
		c := side.Crash
		rows = append(rows, []string{
			titleOf(side.Name), count(c.Accepted), count(c.Lost), count(c.Doubled),
			fmt.Sprintf("%s s, %s", number(c.Worker), count(c.Waited)), fmt.Sprintf("%s s, %s", number(c.Store), count(c.StoreWaited)),
		})
	}
	writeRows(b, rows)
}

// writeLosses lists what a side does better than ours as a library, by how much, and why.
func (r results) writeLosses(b *strings.Builder) {
	b.WriteString("## Where we lose\n\n")
	ours := r.Sides[0]
	for _, f := range figures() {
		mine := f.of(ours).median()
		var better []string
		for _, side := range r.Sides {
			if strings.HasPrefix(side.Name, "sendlimit") {
				continue
			}
			theirs := f.of(side).median()
			if theirs < mine == !f.moreIs && theirs != mine {
				better = append(better, fmt.Sprintf("%s %s against %s %s", titleOf(side.Name), number(theirs), number(mine), f.unit))
			}
		}
		if len(better) == 0 {
			continue
		}
		fmt.Fprintf(b, "- **%s**: %s.", f.column, strings.Join(better, "; "))
		if f.why != "" {
			fmt.Fprintf(b, " Why: %s.", f.why)
		}
		b.WriteString("\n")
	}
	b.WriteString("\nOver HTTP each submit and each delivery also costs a request, on the same processor as the caller here.\n\n")
}

func (r results) writeSettings(b *strings.Builder) {
	b.WriteString("## Versions, sizes and settings\n\n")
	s := r.Sizes
	pinned := "unpinned"
	if r.Pinned {
		pinned = "the store on one core, the side on the other"
	}
	fmt.Fprintf(b, "%s; %s; %s; %.0f s in all.\n\n", r.Date, r.Machine, pinned, r.Seconds)
	if r.Note != "" {
		fmt.Fprintf(b, "%s\n\n", r.Note)
	}
	fmt.Fprintf(b, "Rounds: submits %d × %s on each kind of store, herds %d × %s, lateness %d × %s at %d a second and once beside %s pending. "+
		"Killed: two herds of %s. Outage: %s users.\n\n",
		s.SubmitRounds, count(s.Submits), s.HerdRounds, count(s.Herd), s.LateRounds, count(s.Late), s.PerSecond, count(s.Pending), count(s.Crash), count(s.Pairs))
	for _, side := range r.Sides {
		fmt.Fprintf(b, "- **%s**: %s. %s; durable: %s.\n", titleOf(side.Name), side.Settings, side.Store, side.Durable)
	}
}
