package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// side is one of the things compared.
type side struct {
	// prepare makes n operations ready, outside the time measured.
	prepare func(n int) (slice, error)
	series  series
}

// slice is a number of operations that are measured together.
type slice struct {
	do operation
	// finish, if any, ends what do began and left under way; it is measured.
	finish func() error
}

// just makes a side of which nothing is left under way.
func just(prepare func(n int) operation) *side {
	return &side{prepare: func(n int) (slice, error) { return slice{do: prepare(n)}, nil }}
}

// series is what was measured, a figure a slice.
type series struct {
	scriptTime []float64 // µs of Redis time in scripts, an operation
	rate       []float64 // operations a second
	runs       float64   // scripts run, an operation, in the last slice
}

// interleave measures so many slices of n operations of each side, one side
// after the other in turn: what else happens on the machine meets them all.
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

// micros is the median Redis time of an operation, in µs.
func (s *side) micros() float64 { return median(s.series.scriptTime) }

// rate is the median number of operations a second.
func (s *side) rate() float64 { return median(s.series.rate) }

// timeOver is the median, over the slices, of this side's Redis time to that of
// the other in the same turn: a machine that gets slower over minutes slows
// both.
func (s *side) timeOver(other *side) float64 {
	return median(ratios(s.series.scriptTime, other.series.scriptTime))
}

// rateOver is the same of operations a second.
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

// timing says the median Redis time and between what half the slices lie.
func (s *side) timing() string {
	low, high := quartiles(s.series.scriptTime)
	return fmt.Sprintf("%.2f µs (%.2f to %.2f)", s.micros(), low, high)
}

func median(of []float64) float64 { return quantile(of, 0.5) }

func quartiles(of []float64) (low, high float64) { return quantile(of, 0.25), quantile(of, 0.75) }

// quantile is the value that a share of all is at most, between two of them
// the straight line.
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
