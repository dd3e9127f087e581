package refit

import (
	"encoding/json"
	"maps"

	"github.com/sendlimit/sendlimiter/message"
)

// tally counts for the run that continues this one. That run looks at a partition that is
// not finished again, and finds everything in it but what was moved, cancelled or gone: the
// tally has the partitions that are finished, and of the next one only that.
type tally struct {
	finished message.RefitSummary
	part     message.RefitSummary
	last     bool // the misfit that is worked on is the last one of its user
}

func newTally(finished message.RefitSummary) tally {
	finished.MisfitsByRule = maps.Clone(finished.MisfitsByRule)
	return tally{finished: finished}
}

// add counts what became of a misfit. A user counts with the last one: the next run finds the
// others of a user again.
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

// sum returns the counts of both.
func (t *tally) sum() message.RefitSummary {
	s := t.finished
	s.MisfitsByRule = maps.Clone(s.MisfitsByRule)
	addCounts(&s, t.part)
	return s
}

// addCounts adds the counts of a summary.
func addCounts(s *message.RefitSummary, more message.RefitSummary) {
	s.Add(more.RefitTotals)
	s.Moved += more.Moved
	s.Cancelled += more.Cancelled
	s.Kept += more.Kept
	s.Gone += more.Gone
}

// notes returns how far the run has come, for the next one.
func (r *refitRun) notes(next int) string {
	sum := r.tally.sum()
	sum.Next = next
	text, _ := json.Marshal(sum) // can't fail for counts and texts
	return string(text)
}

// continueFrom goes on where an earlier run ended. Without its notes it begins anew.
func (r *refitRun) continueFrom(notes string) {
	var earlier message.RefitSummary
	if notes != "" && json.Unmarshal([]byte(notes), &earlier) == nil {
		addCounts(&r.summary, earlier)
		r.summary.First, r.summary.Next = earlier.Next, earlier.Next
	}
	r.tally = newTally(r.summary)
}
