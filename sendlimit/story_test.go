package sendlimit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// story tells of alice's timeline on an embedded store. The store's clock
// shows midnight of 2026-11-22 at first, and stands still but for wait.
type story struct {
	*testing.T

	server   *miniredis.Miniredis
	client   *redis.Client
	options  sendlimit.Options
	timeline *sendlimit.Timeline
	now      time.Time
}

// newStory begins a story under rules as they are written.
func newStory(t *testing.T, rules ...string) *story {
	t.Helper()
	return tell(t, sendlimit.Options{Policy: policyOf(t, rules...)})
}

func tell(t *testing.T, o sendlimit.Options) *story {
	t.Helper()
	server, client := redistest.Embedded(t)
	s := &story{T: t, server: server, client: client, options: o, now: at("00:00")}
	server.SetTime(s.now)
	var err error
	s.timeline, err = sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	return s
}

// policyOf reads rules as they are written; a first one with a colon names
// the time zone: "zone:Europe/Berlin".
func policyOf(t require.TestingT, rules ...string) policy.Policy {
	zone := ""
	if name, ok := strings.CutPrefix(rules[0], "zone:"); ok {
		zone, rules = name, rules[1:]
	}
	policy, err := policy.Parse("test", zone, rules...)
	require.NoError(t, err)
	return policy
}

// at reads a time of day of 2026-11-22, "11:11:11.500", or of another day of
// that month, "23 11:11", or a whole time. The empty string is the zero time.
func at(s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	if strings.Contains(s, "T") {
		moment, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			panic(err) // the test is wrong
		}
		return moment.UTC()
	}
	day, clock, other := strings.Cut(s, " ")
	if !other {
		day, clock = "22", s
	}
	if strings.Count(clock, ":") == 1 {
		clock += ":00"
	}
	return at("2026-11-" + day + "T" + clock + "Z")
}

// wait lets time pass, for the clock and for whatever expires by it.
func (s *story) wait(d time.Duration) {
	s.now = s.now.Add(d)
	s.server.FastForward(d)
	s.server.SetTime(s.now)
}

// until waits until a time.
func (s *story) until(when string) { s.wait(at(when).Sub(s.now)) }

func (s *story) key() string { return keysOf(s.options).Timeline("alice") }

func keysOf(o sendlimit.Options) keyspace.Keys {
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		panic(err) // the test is wrong
	}
	return keys
}

func (s *story) reserve(id, when string) sendlimit.Decision {
	s.Helper()
	return s.ask(sendlimit.Request{ID: id, At: at(when)})
}

func (s *story) shift(id, when string) sendlimit.Decision {
	s.Helper()
	return s.ask(sendlimit.Request{ID: id, At: at(when), Shift: true})
}

func (s *story) ask(r sendlimit.Request) sendlimit.Decision {
	s.Helper()
	r.User = "alice"
	d, err := s.timeline.Reserve(s.Context(), r)
	require.NoError(s, err)
	return d
}

func (s *story) move(id, when string) sendlimit.Decision {
	s.Helper()
	d, err := s.timeline.Move(s.Context(), sendlimit.MoveRequest{User: "alice", ID: id, At: at(when)})
	require.NoError(s, err)
	return d
}

func (s *story) release(id string) sendlimit.Decision {
	s.Helper()
	d, err := s.timeline.Release(s.Context(), sendlimit.ReleaseRequest{User: "alice", ID: id})
	require.NoError(s, err)
	return d
}

// under changes the rules while the story goes on.
func (s *story) under(rules ...string) {
	s.Helper()
	changed, err := s.timeline.WithPolicy(policyOf(s.T, rules...))
	require.NoError(s, err)
	s.timeline = changed
}

// accepted reserves places, each with its time as its id, and requires that
// they are free.
func (s *story) accepted(whens ...string) {
	s.Helper()
	for _, when := range whens {
		require.Equal(s, sendlimit.Decision{Allowed: true, At: at(when), Now: s.now}, s.reserve(id(when), when), when)
	}
}

// id makes an id of a time, which may have a space.
func id(when string) string { return strings.ReplaceAll(when, " ", "_") }

// refused requires that places are refused by the rules.
func (s *story) refused(whens ...string) {
	s.Helper()
	for _, when := range whens {
		d := s.reserve("refused", when)
		require.False(s, d.Allowed, when)
		require.Equal(s, fault.CodeSendLimit, d.Code, when)
	}
}

// refusedBy requires that a place is refused by the rules given, with the
// free times before and after it, "" for none.
func (s *story) refusedBy(when, previous, next string, rules ...string) {
	s.Helper()
	d := s.reserve("refused", when)
	require.Equal(s, fault.CodeSendLimit, d.Code, when)
	require.Equal(s, rules, broken(d), when)
	require.Equal(s, at(previous), d.PreviousFree, "%s: previous free", when)
	require.Equal(s, at(next), d.NextFree, "%s: next free", when)
}

// broken lists the rules that a decision names.
func broken(d sendlimit.Decision) []string {
	var rules []string
	for _, v := range d.Violations {
		rules = append(rules, v.Rule.String())
	}
	return rules
}

// holds requires that alice has these reservations, "id time" each.
func (s *story) holds(wanted ...string) {
	s.Helper()
	require.Equal(s, wanted, s.held())
}

func (s *story) held() []string {
	s.Helper()
	list, err := s.timeline.List(s.Context(), sendlimit.ListRequest{User: "alice"})
	require.NoError(s, err)
	var held []string
	for _, r := range list {
		held = append(held, r.ID+" "+r.At.Format("15:04:05.999"))
	}
	return held
}
