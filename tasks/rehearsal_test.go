package tasks_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// randomMessages are messages of a few users within a few hours: many collide,
// some repeat an earlier one or its id, some are invalid.
func (s *story) randomMessages(random *rand.Rand, n int) []message.Message {
	messages := make([]message.Message, n)
	for i := range messages {
		m := s.message(fmt.Sprintf("m%d", i), time.Duration(random.Int64N(3*3600*1000))*time.Millisecond)
		m.User = fmt.Sprintf("user-%d", random.IntN(5))
		switch random.IntN(10) {
		case 0:
			m.Now, m.SendAt = true, time.Time{}
		case 1, 2:
			m.OnConflict = message.OnConflictShift
		case 3:
			m.OnConflict, m.ShiftUntil = message.OnConflictShift, m.SendAt.Add(time.Minute)
		case 4:
			m.SendAt = s.at(-time.Duration(random.IntN(10)) * time.Second) // within the grace or not
		case 5:
			m.ExpiresAt = m.SendAt.Add(time.Duration(random.IntN(3)-1) * time.Minute) // or no message at all
		case 6:
			if i > 0 {
				m = messages[random.IntN(i)]
			}
		case 7:
			if i > 0 {
				m.ID, m.User = messages[i-1].ID, messages[i-1].User
			}
		}
		messages[i] = m
	}
	return messages
}

// A rehearsal answers word for word what the real run then does, over what is
// already reserved, and leaves not a key behind.
func TestRehearsalIsAsTheRealRun(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			tell(t, func(s *story) {
				random := rand.New(rand.NewPCG(seed, 1))
				for _, m := range s.randomMessages(random, 60) { // what is there already
					s.submit(m)
				}
				s.until(time.Minute)
				messages := s.randomMessages(random, 150)
				synctest.Wait()

				before := s.server.Dump()
				rehearsal, err := s.Rehearse(s.Context())
				require.NoError(s, err)
				rehearsed := make([]string, len(messages))
				for i, m := range messages {
					o, err := rehearsal.Submit(s.Context(), m)
					require.NoError(s, err)
					rehearsed[i] = s.spelled(o)
				}
				require.NotEqual(s, before, s.server.Dump(), "it works on copies")
				require.NoError(s, rehearsal.Close(s.Context()))
				require.Equal(s, before, s.server.Dump())

				counts := map[string]int{}
				for i, m := range messages {
					o := s.submit(m)
					require.Equal(s, s.spelled(o), rehearsed[i], "message %d: %+v", i, m)
					counts[o.Outcome]++
				}
				for _, outcome := range []string{message.Accepted, message.Refused, message.Invalid} {
					require.Greater(s, counts[outcome], 5, outcome)
				}
			})
		})
	}
}

func (s *story) spelled(o message.Outcome) string {
	s.Helper()
	text, err := json.Marshal(o)
	require.NoError(s, err)
	return string(text)
}

// Two rehearsals and the real thing at the same time know nothing of each other.
func TestRehearsalsAreApart(t *testing.T) {
	tell(t, func(s *story) {
		first, err := s.Rehearse(s.Context())
		require.NoError(s, err)
		second, err := s.Rehearse(s.Context())
		require.NoError(s, err)
		for _, submit := range []func() (message.Outcome, error){
			func() (message.Outcome, error) { return first.Submit(s.Context(), s.message("a", time.Hour)) },
			func() (message.Outcome, error) { return second.Submit(s.Context(), s.message("b", time.Hour)) },
			func() (message.Outcome, error) { return s.Submit(s.Context(), s.message("c", time.Hour)) },
		} {
			o, err := submit()
			require.NoError(s, err)
			require.Equal(s, message.Accepted, o.Outcome)
		}
		require.NoError(s, first.Close(s.Context()))
		o, err := second.Submit(s.Context(), s.message("d", time.Hour))
		require.NoError(s, err)
		require.Equal(s, "b", o.Violations[0].Conflicts[0].ID)
		require.NoError(s, second.Close(s.Context()))
		require.Equal(s, []string{"c"}, s.places())
		require.Equal(s, 1, s.queued(), "nothing rehearsed is queued")
	})
}
