package sendlimittest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// modelStory is a user of a Model. Its clock shows midnight of 2026-11-22 at first.
// Reservations have their time as id.
type modelStory struct {
	*testing.T

	model *sendlimittest.Model
	now   time.Time
}

// newModelStory starts a story under rules; see story.PolicyOf.
func newModelStory(t *testing.T, rules ...string) *modelStory {
	t.Helper()
	model, err := sendlimittest.NewModel(story.PolicyOf(t, rules...), policy.DefaultReach)
	require.NoError(t, err)
	return &modelStory{T: t, model: model, now: story.At("00:00:00")}
}

func (s *modelStory) request(id, when string) sendlimit.Request {
	return sendlimit.Request{User: "alice", ID: id, At: story.At(when), Now: s.now}
}

func (s *modelStory) reserve(id, when string) sendlimit.Decision {
	return s.model.Reserve(s.request(id, when))
}

func (s *modelStory) release(id string) sendlimit.Decision {
	return s.model.Release(sendlimit.ReleaseRequest{User: "alice", ID: id, Now: s.now})
}

// accepted reserves places and requires that they are free. The id of each is
// made of its time.
func (s *modelStory) accepted(whens ...string) {
	s.Helper()
	for _, when := range whens {
		require.Equal(s, sendlimit.Decision{Allowed: true, At: story.At(when), Now: s.now}, s.reserve(story.ID(when), when), when)
	}
}

// holds requires that the user has exactly these reservations, as "id time".
func (s *modelStory) holds(wanted ...string) {
	s.Helper()
	var held []string
	for _, r := range s.model.List(sendlimit.ListRequest{User: "alice", Now: s.now}) {
		held = append(held, r.ID+" "+r.At.Format("15:04:05.999"))
	}
	require.Equal(s, wanted, held)
}
