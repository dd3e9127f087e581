package worldtest_test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// worlds is how many worlds a run of the tests plays.
const worlds = 5

// Whatever callers and operators do, and whatever fails, every promise is kept.
func TestWorldsKeepEveryPromise(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	c := worldtest.Config{Features: worldtest.Asked()}
	for _, seed := range sendlimittest.Seeds(t, worlds) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			p := worldtest.Draw(seed, c)
			var faults []string
			var told *worldtest.Story
			worldtest.Play(t, p, func(tb testing.TB, s *worldtest.Story) { told, faults = s, worldtest.Judge(tb, s) })
			t.Logf("%v: %d calls, %d arrivals in %s", p.Features, len(told.Trace), len(told.Arrivals), told.Ended.Sub(told.Began))
			if len(faults) > 0 {
				keep(t, p, told)
				t.Errorf("%d promises are broken:\n%s", len(faults), strings.Join(faults[:min(len(faults), 20)], "\n"))
			}
		})
	}
}

// keep keeps the plan and the calls of a world for whoever looks for the fault.
func keep(t *testing.T, p worldtest.Plan, s *worldtest.Story) {
	t.Helper()
	file, err := os.CreateTemp("", "world-*.txt") //nolint:usetesting // it outlives the test
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	_, err = file.WriteString(p.String())
	require.NoError(t, err)
	for _, c := range s.Trace {
		_, err = file.WriteString(c.At.Sub(s.Began).String() + " " + c.Process + " " + strings.Join(c.Names, ", ") + "\n")
		require.NoError(t, err)
	}
	t.Logf("the plan and the calls are in %s", file.Name())
}

// The same seed draws the same plan, and worlds differ.
func TestPlansAreThoseOfTheirSeeds(t *testing.T) {
	t.Parallel()
	seen := make(map[worldtest.Feature]bool)
	for seed := range uint64(80) {
		p := worldtest.Draw(seed, worldtest.Config{})
		require.Equal(t, p.String(), worldtest.Draw(seed, worldtest.Config{}).String())
		require.NotEqual(t, p.String(), worldtest.Draw(seed+1, worldtest.Config{}).String())
		for _, f := range p.Features {
			seen[f] = true
		}
	}
	require.Len(t, seen, 34, "every feature is drawn")
}

// noteCancel notes that the first message to arrive was cancelled before.
func noteCancel(s *worldtest.Story) {
	first := s.Arrivals[0]
	s.NoteAnswer(worldtest.Answer{
		Event: worldtest.Event{Do: worldtest.Cancel, User: first.User, ID: first.ID},
		Began: first.At.Add(-3 * time.Second), Ended: first.At.Add(-2 * time.Second), Got: message.Outcome{Outcome: message.Cancelled},
	})
}

// A story in which something is wrong is found out.
func TestTheVerdictFindsWhatIsWrong(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	wrongs := []struct {
		fault string
		spoil func(*worldtest.Story)
	}{
		{"", func(*worldtest.Story) {}},
		{"", func(s *worldtest.Story) { // an edit was made, its answer lost, and its repetition too late
			s.Arrivals[0].Title = "made unheard"
			s.NoteAnswer(worldtest.Answer{
				Event: worldtest.Event{Do: worldtest.Edit, User: s.Arrivals[0].User, ID: s.Arrivals[0].ID, Title: "made unheard"},
				Began: s.Arrivals[0].At.Add(-time.Second), Ended: s.Arrivals[0].At, Unclear: true,
				Got: message.Outcome{Outcome: message.Refused},
			})
		}},
		{"cancel: ", func(s *worldtest.Story) { noteCancel(s) }},
		{"", func(s *worldtest.Story) { // its submit had no answer, and was repeated after the cancel
			noteCancel(s)
			first := s.Arrivals[0]
			s.NoteAnswer(worldtest.Answer{
				Event: worldtest.Event{Do: worldtest.Submit, User: first.User, ID: first.ID}, Unclear: true,
				Began: first.At.Add(-4 * time.Second), Ended: first.At.Add(-time.Second), Got: message.Outcome{Outcome: message.Accepted},
			})
		}},
		{"end: ", func(s *worldtest.Story) { s.Arrivals = s.Arrivals[1:] }},
		{"twice: ", func(s *worldtest.Story) { s.Arrivals = append(s.Arrivals, s.Arrivals[0]) }},
		{"early: ", func(s *worldtest.Story) { s.Arrivals[0].At = s.Arrivals[0].At.Add(-time.Millisecond) }},
		{"late: ", func(s *worldtest.Story) { s.Arrivals[0].At = s.Arrivals[0].At.Add(3 * time.Second) }},
		{"late: nothing was away or in the way", func(s *worldtest.Story) {
			for i := range s.Arrivals {
				s.Arrivals[i].At = s.Arrivals[i].At.Add(time.Minute)
			}
		}},
		{"real times: ", func(s *worldtest.Story) {
			for i := range s.Arrivals {
				s.Arrivals[i].User, s.Arrivals[i].At = s.Arrivals[0].User, s.Arrivals[0].At
			}
		}},
		{"edits: ", func(s *worldtest.Story) { s.Arrivals[0].Title = "another" }},
		{"pace: ", func(s *worldtest.Story) { s.Plan.Pace = "1/hour" }},
		{"settings: ", func(s *worldtest.Story) {
			s.NoteRules(worldtest.RuleChange{
				Began: s.Began.Add(-time.Hour), Ended: s.Began.Add(-time.Hour), Policies: s.Changes()[0].Policies,
				User: s.Arrivals[0].User, Settings: policy.UserSettings{Blocked: true},
			})
		}},
	}
	p := worldtest.Draw(1, worldtest.Config{Features: []worldtest.Feature{}})
	faults := make([][]string, len(wrongs))
	worldtest.Play(t, p, func(tb testing.TB, s *worldtest.Story) {
		tb.Helper()
		arrivals := slices.Clone(s.Arrivals)
		slices.Reverse(arrivals) // the first ones were due soon
		for i, w := range wrongs {
			s.Arrivals = slices.Clone(arrivals)
			w.spoil(s)
			faults[i] = worldtest.Judge(tb, s)
		}
	})
	for i, w := range wrongs {
		if w.fault == "" {
			require.Empty(t, faults[i])
			continue
		}
		require.True(t, slices.ContainsFunc(faults[i], func(f string) bool { return strings.HasPrefix(f, w.fault) }), "%s: %v", w.fault, faults[i])
	}
}
