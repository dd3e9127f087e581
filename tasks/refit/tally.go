package refit

import (
	"encoding/json"
	"maps"

	"github.com/sendlimit/sendlimiter/message"
)

// tally counts for the run that continues this one. That run repeats an unfinished partition, and
// finds again all its misfits that were not moved, cancelled or gone. So the
// tally has the finished partitions, and only those three of the next one.
type tally struct {
	finished message.RefitSummary
	part     message.RefitSummary
	last     bool // the current misfit is the last one of its user
}

func newTally(finished message.RefitSummary) tally {
	finished.MisfitsByRule = maps.Clone(finished.MisfitsByRule)
	return tally{finished: finished}
}

// add counts the outcome of a misfit. A user counts with the last one: the next run finds the
// user's others again.
func (t *tally) add(m message.Misfit) {
	switch m.Outcome {
	case message.Moved, message.Cancelled, message.MisfitGone:
		countOutcome(&t.part, m.Outcome)
		t.part.Misfits++
		t.part.Count(m.Breaks, 1)
		if t.last {
			t.part.MisfitUsers++
		}
	}
}

func (t *tally) sum() message.RefitSummary {
	s := t.finished
	s.MisfitsByRule = maps.Clone(s.MisfitsByRule)
	addCounts(&s, t.part)
	return s
}

func addCounts(s *message.RefitSummary, more message.RefitSummary) {
	s.Add(more.RefitTotals)
	s.Moved += more.Moved
	s.Cancelled += more.Cancelled
	s.Kept += more.Kept
	s.Gone += more.Gone
}

// notes returns the progress for the next run.
func (r *refitRun) notes(next int) string {
	sum := r.tally.sum()
	sum.Next = next
	text, _ := json.Marshal(sum) // can't fail for counts and texts
	return string(text)
}

// continueFrom continues an earlier run by its notes, "" for none.
func (r *refitRun) continueFrom(notes string) {
	var earlier message.RefitSummary
	if notes != "" && json.Unmarshal([]byte(notes), &earlier) == nil {
		addCounts(&r.summary, earlier)
		r.summary.First, r.summary.Next = earlier.Next, earlier.Next
	}
	r.tally = newTally(r.summary)
}
