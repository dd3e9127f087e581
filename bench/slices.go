package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// side is one of the compared sides.
type side struct {
	// prepare prepares n operations, outside the measured time.
	prepare func(n int) (slice, error)
	series  series
}

// slice is a number of operations that are measured together.
type slice struct {
	do operation
	// finish, if any, ends what do left running. It is measured too.
	finish func() error
}

// just makes a side that leaves nothing running.
func just(prepare func(n int) operation) *side {
	return &side{prepare: func(n int) (slice, error) { return slice{do: prepare(n)}, nil }}
}

// series has the measurements, one for each slice.
type series struct {
	scriptTime []float64 // µs of Redis time in scripts for an operation
	rate       []float64 // operations a second
	runs       float64   // scripts run for an operation, in the last slice
}

// interleave measures slices of n operations of each side. The sides alternate, so that
// other load on the machine affects them all.
func (s *store) interleave(ctx context.Context, slices, n int, sides ...*side) error {
	for range slices {
		for _, side := range sides {
			if err := s.measureSlice(ctx, n, side); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *store) measureSlice(ctx context.Context, n int, of *side) error {
	slice, err := of.prepare(n)
	if err != nil {
		return err
	}
	if err := s.resetCommandTime(ctx); err != nil {
		return err
	}
	took, err := drive(ctx, n, slice.do)
	if slice.finish != nil {
		began := time.Now()
		err = errors.Join(err, slice.finish())
		took += time.Since(began)
	}
	if err != nil {
		return err
	}
	spent, runs, err := s.scriptTime(ctx)
	if err != nil {
		return err
	}
	of.series.scriptTime = append(of.series.scriptTime, float64(spent.Microseconds())/float64(n))
	of.series.rate = append(of.series.rate, float64(n)/took.Seconds())
	of.series.runs = float64(runs) / float64(n)
	return nil
}

// micros returns the median Redis time of an operation, in µs.
func (s *side) micros() float64 { return median(s.series.scriptTime) }

// rate returns the median number of operations a second.
func (s *side) rate() float64 { return median(s.series.rate) }

// timeOver returns the median, over the slices, of this side's Redis time divided by
// the other's in the same turn: if the machine gets slower over minutes, it slows both.
func (s *side) timeOver(other *side) float64 {
	return median(ratios(s.series.scriptTime, other.series.scriptTime))
}

// rateOver is like timeOver, for operations a second.
func (s *side) rateOver(other *side) float64 {
	return median(ratios(s.series.rate, other.series.rate))
}

func ratios(of, to []float64) []float64 {
	pairs := make([]float64, min(len(of), len(to)))
	for i := range pairs {
		pairs[i] = of[i] / to[i]
	}
	return pairs
}

// timing returns the median Redis time and the range of the middle half of the slices.
func (s *side) timing() string {
	low, high := quartiles(s.series.scriptTime)
	return fmt.Sprintf("%.2f µs (%.2f to %.2f)", s.micros(), low, high)
}

func median(of []float64) float64 { return quantile(of, 0.5) }

func quartiles(of []float64) (low, high float64) { return quantile(of, 0.25), quantile(of, 0.75) }

// quantile returns the value that a share of all does not exceed, interpolated linearly
// between two of them.
func quantile(of []float64, share float64) float64 {
	if len(of) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(of))
	at := share * float64(len(sorted)-1)
	below := int(at)
	if below == len(sorted)-1 {
		return sorted[below]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}
