package tasks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks"
)

// What was in a misfit's way goes away between being found and being touched: it
// stays where it is, and has no other task.
func TestRefitKeepsWhatFitsAgain(t *testing.T) {
	t.Parallel()
	tell(t, func(s *story) {
		s.accepted(s.message("a", time.Hour), s.message("b", 2*time.Hour))
		s.apply("1/calendar_day")
		queued, generation := 0, s.record("alice", "b")["g"]
		s.hook = &beforeScript{name: "next_free", do: func() {
			s.cancelled("a")
			queued = s.queued()
		}}
		r, err := tasks.NewRefitter(s.newClient(), tasks.RefitterOptions{})
		require.NoError(s, err)
		defer r.Close()
		var found noted
		summary, err := r.Run(s.Context(), s.stored(), tasks.RefitShift, found.watcher())
		require.NoError(s, err)
		require.Equal(s, noted{"b 1/calendar_day kept"}, found)
		require.Equal(s, 1, summary.Kept)
		require.Equal(s, queued, s.queued())
		require.Equal(s, generation, s.record("alice", "b")["g"])
	})
}
