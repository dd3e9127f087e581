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
