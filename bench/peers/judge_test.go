package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

func TestFit(t *testing.T) {
	t.Parallel()
	noon := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	at := func(offsets ...time.Duration) (times []time.Time) {
		for _, o := range offsets {
			times = append(times, noon.Add(o))
		}
		return times
	}
	const ms, minute, hour = time.Millisecond, time.Minute, time.Hour
	for _, row := range []struct {
		name   string
		others []time.Time
		want   bool
	}{
		{"none", nil, true},
		{"a minute before", at(-minute), true},
		{"less than a minute before", at(-minute + ms), false},
		{"a minute after", at(minute), true},
		{"less than a minute after", at(minute - ms), false},
		{"four in the hour before", at(-59*minute, -40*minute, -20*minute, -2*minute), true},
		{"five in the hour before", at(-59*minute, -40*minute, -20*minute, -10*minute, -2*minute), false},
		{"the first of five an hour before", at(-60*minute, -40*minute, -20*minute, -10*minute, -2*minute), true},
		{"five in the hour around", at(-29*minute, -20*minute, -10*minute, 10*minute, 30*minute), false},
		{"five around, more than an hour", at(-30*minute, -20*minute, -10*minute, 10*minute, 30*minute), true},
		{"five in the hour after", at(2*minute, 10*minute, 20*minute, 40*minute, 59*minute), false},
		{"nine of the day", at(-12*hour, -10*hour, -8*hour, -6*hour, -4*hour, -2*hour, 2*hour, 4*hour, 6*hour), true},
		{"ten of the day", at(-12*hour, -10*hour, -8*hour, -6*hour, -4*hour, -2*hour, 2*hour, 4*hour, 6*hour, 12*hour-ms), false},
		{"nine of the day and others", at(-12*hour-ms, -12*hour, -10*hour, -8*hour, -6*hour, -4*hour, -2*hour, 2*hour, 4*hour, 6*hour, 12*hour), true},
	} {
		require.Equal(t, row.want, fit(row.others, noon), row.name)
	}
}

func TestJudgeAnswers(t *testing.T) {
	t.Parallel()
	start := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	var messages []side.Message
	for _, m := range []struct {
		user  string
		after time.Duration
	}{
		{"alice", 0},
		{"alice", time.Second},
		{"alice", 2 * time.Second},
		{"bob", time.Second},
		{"alice", time.Minute}, // fits beside the first, but not beside the second, which was accepted
		{"bob", time.Hour},
	} {
		messages = append(messages, side.Message{User: m.user, At: start.Add(m.after)})
	}
	require.Equal(t, wrong{Lines: 6, Accepted: 3, Against: 1, Fitting: 1}, judgeAnswers(messages, []byte("aararr")))
	require.Equal(t, wrong{Lines: 6, Accepted: 4}, judgeAnswers(messages, []byte("arraaa")))
}

// The judge accepts as many lines of the real file as the rules do.
func TestJudgeOnRealSends(t *testing.T) {
	t.Parallel()
	messages, err := realSends(realFile)
	require.NoError(t, err)
	require.Len(t, messages, 81_959)
	accepted := make(map[string][]time.Time)
	answers := make([]byte, len(messages))
	for i, m := range messages {
		answers[i] = 'r'
		if fit(accepted[m.User], m.At) {
			answers[i] = 'a'
			accepted[m.User] = append(accepted[m.User], m.At)
		}
	}
	require.Equal(t, wrong{Lines: 81_959, Accepted: 42_514}, judgeAnswers(messages, answers))
}

func TestCountTooClose(t *testing.T) {
	t.Parallel()
	noon := time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)
	require.Equal(t, 2, countTooClose(map[string][]time.Time{
		"alice": {noon.Add(2 * time.Minute), noon, noon.Add(time.Second), noon.Add(58*time.Second + time.Second)},
		"bob":   {noon, noon.Add(57 * time.Second)},
		"carol": {noon},
	}))
}
