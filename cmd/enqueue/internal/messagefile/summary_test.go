package messagefile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func summaryOf(outcomes ...message.Outcome) *messagefile.Summary {
	s := &messagefile.Summary{}
	for _, o := range outcomes {
		s.Add(o)
	}
	return s
}

func refusedBy(rules ...string) message.Outcome {
	o := message.Outcome{Outcome: message.Refused, Code: fault.CodeSendLimit}
	for _, rule := range rules {
		o.Violations = append(o.Violations, message.Violation{Rule: rule})
	}
	return o
}

func TestSummary(t *testing.T) {
	t.Parallel()
	s := summaryOf(
		message.Outcome{Outcome: message.Accepted},
		message.Outcome{Outcome: message.Accepted, Shifted: true},
		message.Outcome{Outcome: message.Accepted, Shifted: true, Replayed: true}, // was shifted before
		refusedBy("1/minute", "5/hour"), refusedBy("5/hour"), refusedBy("5/hour"),
		message.Outcome{Outcome: message.Refused, Code: fault.CodeIDReused},
		message.Outcome{Outcome: message.Invalid}, message.Outcome{Outcome: message.Invalid, Code: fault.CodeInPast},
	)
	s.Errors, s.Failure = 3, "the store is full"
	s.Finish(1234567*time.Microsecond, 0)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, `{"lines":9,"accepted":2,"replayed":1,"shifted":1,"refused":4,"invalid":2,"past":1,"errors":3,"recorded":0,`+
		`"refused_by_rule":{"1/minute":1,"5/hour":2},"refused_by_code":{"id_reused":1},"seconds":1.235}`, string(text))

	var person strings.Builder
	require.NoError(t, s.Print(&person, cli.Palette{}))
	require.Equal(t, `12 lines in 1.2 seconds, 9 a second

  accepted     2  1 of them shifted to a free time
  replayed     1  accepted before: nothing changed
  refused      4
    5/hour     2
    1/minute   1
    id_reused  1
  invalid      2  skipped, 1 of them since their send time has passed
  errors       3  the store is full
`, person.String())
}

func TestSummaryOfNothing(t *testing.T) {
	t.Parallel()
	s := summaryOf()
	s.Finish(0, 0)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, `{"lines":0,"accepted":0,"replayed":0,"shifted":0,"refused":0,"invalid":0,"errors":0,"recorded":0,`+
		`"refused_by_rule":{},"seconds":0}`, string(text))
	var person strings.Builder
	require.NoError(t, s.Print(&person, cli.Palette{}))
	require.Equal(t, "0 lines in 0.0 seconds\n\n  accepted  0\n  replayed  0\n  refused   0\n  invalid   0\n", person.String())
}

// planOf is the summary of a dry run.
func planOf(outcomes ...message.Outcome) *messagefile.Summary {
	s := &messagefile.Summary{Plan: &messagefile.Plan{}}
	for _, o := range outcomes {
		s.Add(o)
	}
	s.Finish(0, 0)
	return s
}

func noon() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func shifted(by time.Duration) message.Outcome {
	return message.Outcome{
		Outcome: message.Accepted, SendAt: message.Time{Time: noon().Add(by)}, RequestedAt: message.Time{Time: noon()}, Shifted: true,
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	replayed, quiet := shifted(time.Hour), refusedBy("1/minute")
	replayed.Replayed = true
	quiet.Code, quiet.SendAt = fault.CodeQuietHours, message.Time{Time: noon()}
	marketing := refusedBy("2/calendar_day")
	marketing.Violations[0].Category = "marketing"
	s := planOf(
		message.Outcome{Outcome: message.Accepted, SendAt: message.Time{Time: noon()}, RequestedAt: message.Time{Time: noon().Add(-time.Second)}},
		shifted(61234*time.Millisecond), shifted(time.Second), shifted(90*time.Second), replayed, quiet, marketing,
	)
	s.Plan.JudgedBy = "1/hour"
	s.Finish(0, 0)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.JSONEq(t, `{"lines":7,"accepted":4,"replayed":1,"shifted":3,"refused":2,"invalid":0,"errors":0,"recorded":0,"seconds":0,
		"refused_by_rule":{"marketing 2/calendar_day":1},"refused_by_code":{"quiet_hours":1},
		"shifted_by_seconds":{"median":61.3,"p90":90,"max":90},"judged_by":"1/hour",
		"histogram":[
			{"from":"2026-11-22T12:00:00.000Z","until":"2026-11-22T12:01:00.000Z","accepted":2,"shifted":1,"refused":1},
			{"from":"2026-11-22T12:01:00.000Z","until":"2026-11-22T12:02:00.000Z","accepted":2,"shifted":2,"refused":0}]}`, string(text))

	var person strings.Builder
	require.NoError(t, s.Print(&person, cli.Palette{}))
	require.Equal(t, `7 lines in 0.0 seconds (dry run: nothing was changed)

  accepted                    4  3 of them shifted to a free time
  replayed                    1  accepted before: nothing changed
  refused                     2
    marketing 2/calendar_day  1
    quiet_hours               1
  invalid                     0

  shifted: half of them by up to 1 minute 2 seconds, nine in ten by up to 1 minute 30 seconds, the furthest by 1 minute 30 seconds

  judged by: 1/hour
`, person.String())
}

// Half of the shifts are no longer than the median, and so on, which is up to 1 %
// more than need be, however many lengths there are.
func TestShiftsAreRight(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 10, 11, 99, 100, 50_000} {
		var all []message.Outcome
		for i := 1; i <= n; i++ {
			all = append(all, shifted(time.Duration(i)*1234*time.Millisecond))
		}
		got := planOf(all...).ShiftedBy
		want := func(percent int) float64 { return float64((n*percent+99)/100) * 1.234 }
		require.InEpsilonf(t, want(50), got.Median, 0.01, "%d shifts", n)
		require.InEpsilonf(t, want(90), got.P90, 0.01, "%d shifts", n)
		require.GreaterOrEqual(t, got.Median, want(50)-1e-6)
		require.GreaterOrEqual(t, got.P90, want(90)-1e-6)
		require.LessOrEqual(t, got.P90, got.Max)
		require.InEpsilonf(t, want(100), got.Max, 1e-9, "%d shifts", n)
	}
	require.Nil(t, planOf().ShiftedBy)
}
