package story

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Alice is a user with a timeline on an embedded store. The store's clock shows
// midnight of 2026-11-22 at first. Only Wait and Until move it.
type Alice struct {
	*testing.T

	Server   *miniredis.Miniredis
	Client   *redis.Client
	Options  sendlimit.Options
	Timeline *sendlimit.Timeline
	Now      time.Time
}

// New starts a store on which alice's reservations are judged by rules; see
// PolicyOf.
func New(t *testing.T, rules ...string) *Alice {
	t.Helper()
	return Tell(t, sendlimit.Options{Rules: RulesBy(t, PolicyOf(t, rules...))})
}

// Tell starts a store on which alice's timeline has these options.
func Tell(t *testing.T, o sendlimit.Options) *Alice {
	t.Helper()
	server, client := redistest.Embedded(t)
	s := &Alice{T: t, Server: server, Client: client, Options: o, Now: At("00:00")}
	server.SetTime(s.Now)
	var err error
	s.Timeline, err = sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	return s
}

// Wait moves the clock forward. Keys expire by it.
func (s *Alice) Wait(d time.Duration) {
	s.Now = s.Now.Add(d)
	s.Server.FastForward(d)
	s.Server.SetTime(s.Now)
}

// Until moves the clock forward to a time.
func (s *Alice) Until(when string) { s.Wait(At(when).Sub(s.Now)) }

// Key returns the key of the timeline.
func (s *Alice) Key() string { return KeysOf(s.Options).Timeline("alice") }

// Reserve reserves a place at a time.
func (s *Alice) Reserve(id, when string) sendlimit.Decision {
	s.Helper()
	return s.Ask(sendlimit.Request{ID: id, At: At(when)})
}

// Shift reserves a place at a time or at the next free one.
func (s *Alice) Shift(id, when string) sendlimit.Decision {
	s.Helper()
	return s.Ask(sendlimit.Request{ID: id, At: At(when), Shift: true})
}

// Ask makes a request.
func (s *Alice) Ask(r sendlimit.Request) sendlimit.Decision {
	s.Helper()
	r.User = "alice"
	d, err := s.Timeline.Reserve(s.Context(), r)
	require.NoError(s, err)
	return d
}

// Move moves a reservation to another time.
func (s *Alice) Move(id, when string) sendlimit.Decision {
	s.Helper()
	d, err := s.Timeline.Move(s.Context(), sendlimit.MoveRequest{User: "alice", ID: id, At: At(when)})
	require.NoError(s, err)
	return d
}

// Release gives a reservation back.
func (s *Alice) Release(id string) sendlimit.Decision {
	s.Helper()
	d, err := s.Timeline.Release(s.Context(), sendlimit.ReleaseRequest{User: "alice", ID: id})
	require.NoError(s, err)
	return d
}

// Under changes the rules.
func (s *Alice) Under(rules ...string) {
	s.Helper()
	require.NoError(s, s.Options.Rules.Replace(PolicyOf(s.T, rules...)))
}

// Accepted reserves places and requires that they are free. The id of each is
// made of its time; see ID.
func (s *Alice) Accepted(whens ...string) {
	s.Helper()
	for _, when := range whens {
		require.Equal(s, sendlimit.Decision{Allowed: true, At: At(when), Now: s.Now}, s.Reserve(ID(when), when), when)
	}
}

// Refused requires that the rules refuse these places.
func (s *Alice) Refused(whens ...string) {
	s.Helper()
	for _, when := range whens {
		d := s.Reserve("refused", when)
		require.False(s, d.Allowed, when)
		require.Equal(s, fault.CodeSendLimit, d.Code, when)
	}
}

// RefusedBy requires that exactly the given rules refuse a place, and that the
// decision has these free times before and after it; "" means none.
func (s *Alice) RefusedBy(when, previous, next string, rules ...string) {
	s.Helper()
	d := s.Reserve("refused", when)
	require.Equal(s, fault.CodeSendLimit, d.Code, when)
	require.Equal(s, rules, Broken(d), when)
	require.Equal(s, At(previous), d.PreviousFree, "%s: previous free", when)
	require.Equal(s, At(next), d.NextFree, "%s: next free", when)
}

// Broken lists the rules that a request would break.
func Broken(d sendlimit.Decision) []string {
	var rules []string
	for _, v := range d.Violations {
		rules = append(rules, v.Rule.String())
	}
	return rules
}

// Holds requires that alice has exactly these reservations, as "id time".
func (s *Alice) Holds(wanted ...string) {
	s.Helper()
	require.Equal(s, wanted, s.Held())
}

// Held lists alice's reservations, as "id time".
func (s *Alice) Held() []string {
	s.Helper()
	list, err := s.Timeline.List(s.Context(), sendlimit.ListRequest{User: "alice"})
	require.NoError(s, err)
	var held []string
	for _, r := range list {
		held = append(held, r.ID+" "+r.At.Format("15:04:05.999"))
	}
	return held
}
