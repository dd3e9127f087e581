package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

// deliveries are the lines of a worker's file so far.
type deliveries struct {
	path   string
	offset int64
	count  int
	first  time.Time
	last   time.Time
	times  map[string][]time.Time // by message
}

func newDeliveries(path string) *deliveries {
	return &deliveries{path: path, times: make(map[string][]time.Time)}
}

// read reads the lines that are new. The last one may not be complete yet.
func (d *deliveries) read() error {
	file, err := os.Open(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the deliveries: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read the deliveries: %w", err)
	}
	content := make([]byte, info.Size()-d.offset)
	if _, err := file.ReadAt(content, d.offset); err != nil && len(content) > 0 {
		return fmt.Errorf("read the deliveries: %w", err)
	}
	end := strings.LastIndexByte(string(content), '\n') + 1
	d.offset += int64(end)
	for line := range strings.Lines(string(content[:end])) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), ",")
		us, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("read the delivery %q: %w", line, err)
		}
		d.add(id, time.UnixMicro(us))
	}
	return nil
}

func (d *deliveries) add(id string, at time.Time) {
	d.times[id] = append(d.times[id], at)
	d.count++
	if d.first.IsZero() {
		d.first = at
	}
	if at.After(d.last) {
		d.last = at
	}
}

// outcome is what became of the accepted messages.
type outcome struct {
	Lost    int `json:"lost"`
	Doubled int `json:"doubled"` // deliveries beyond the first
	Early   int `json:"early"`
	late    []float64
}

// judge compares deliveries with the messages that were accepted. Lateness is in milliseconds, of first
// deliveries.
func (d *deliveries) judge(accepted []side.Message) outcome {
	var o outcome
	for _, m := range accepted {
		of := d.times[m.ID]
		if len(of) == 0 {
			o.Lost++
			continue
		}
		o.Doubled += len(of) - 1
		late := float64(of[0].Sub(m.At).Microseconds()) / 1000
		if late < 0 {
			o.Early++
		}
		o.late = append(o.late, late)
	}
	return o
}

// exact returns an error unless each message was delivered once. Early ones are a figure.
func (o outcome) exact() error {
	if o.Lost+o.Doubled > 0 {
		return fmt.Errorf("%d messages lost, %d doubled, where nothing failed", o.Lost, o.Doubled)
	}
	return nil
}
