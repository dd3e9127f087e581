package sendlimittest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
)

// story is a user of a Model. Its clock shows midnight of 2026-11-22 at first.
// Reservations have their time as id.
type story struct {
	*testing.T

	model *sendlimittest.Model
	now   time.Time
}

// newStory starts a story under rules. The last one may be a zone: "zone
// Europe/Berlin".
func newStory(t *testing.T, rules ...string) *story {
	t.Helper()
	zone := ""
	if last := len(rules) - 1; strings.Contains(rules[last], "zone ") {
		zone, rules = strings.TrimPrefix(rules[last], "zone "), rules[:last]
	}
	p, err := policy.Parse("test", zone, rules...)
	require.NoError(t, err)
	model, err := sendlimittest.NewModel(p, policy.DefaultReach)
	require.NoError(t, err)
	return &story{T: t, model: model, now: at("00:00:00")}
}

// at reads a time of day of 2026-11-22, a day and a time of day of that month
// as "23 11:11:11", or a whole time. The empty string is the zero time.
func at(s string) time.Time {
	switch {
	case s == "":
		return time.Time{}
	case strings.Contains(s, "T"):
	case strings.Contains(s, " "):
		s = "2026-11-" + strings.Replace(s, " ", "T", 1) + "Z"
	default:
		s = "2026-11-22T" + s + "Z"
	}
	moment, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err) // the test is wrong
	}
	return moment
}

func (s *story) request(id, when string) sendlimit.Request {
	return sendlimit.Request{User: "alice", ID: id, At: at(when), Now: s.now}
}

func (s *story) reserve(id, when string) sendlimit.Decision {
	return s.model.Reserve(s.request(id, when))
}

func (s *story) shift(id, when, until string) sendlimit.Decision {
	r := s.request(id, when)
	r.Shift, r.ShiftUntil = true, at(until)
	return s.model.Reserve(r)
}

func (s *story) move(id, when string) sendlimit.Decision {
	return s.model.Move(sendlimit.MoveRequest{User: "alice", ID: id, At: at(when), Now: s.now})
}

func (s *story) release(id string) sendlimit.Decision {
	return s.model.Release(sendlimit.ReleaseRequest{User: "alice", ID: id, Now: s.now})
}

// accepted reserves places and requires that they are free. The id of each is
// made of its time.
func (s *story) accepted(whens ...string) {
	s.Helper()
	for _, when := range whens {
		require.Equal(s, sendlimit.Decision{Allowed: true, At: at(when), Now: s.now}, s.reserve(id(when), when), when)
	}
}

// id makes an id of a time, which may have a space.
func id(when string) string { return strings.ReplaceAll(when, " ", "_") }

// refused requires that exactly the given rules refuse a place, and that the
// decision has these free times before and after it. "" stands for none.
func (s *story) refused(when, previous, next string, rules ...string) {
	s.Helper()
	d := s.reserve("refused", when)
	require.Equal(s, fault.CodeSendLimit, d.Code, when)
	require.False(s, d.Allowed, when)
	var broken []string
	for _, v := range d.Violations {
		broken = append(broken, v.Rule.String())
	}
	require.Equal(s, rules, broken, when)
	require.Equal(s, at(previous), d.PreviousFree, "%s: previous free", when)
	require.Equal(s, at(next), d.NextFree, "%s: next free", when)
}

// holds requires that the user has exactly these reservations, as "id time".
func (s *story) holds(wanted ...string) {
	s.Helper()
	var held []string
	for _, r := range s.model.List(sendlimit.ListRequest{User: "alice", Now: s.now}) {
		held = append(held, r.ID+" "+r.At.Format("15:04:05.999"))
	}
	require.Equal(s, wanted, held)
}
