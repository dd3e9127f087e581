package messages_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// contentLengths are one byte, and the bounds of fields and of a content in several.
func contentLengths() []int { return []int{1, 64, 65, 128, 150, 448, 449, 512, 513, 4096} }

// contentOf makes a content of a length in which no two fields are the same.
func contentOf(length int) string {
	var text strings.Builder
	for k := 0; text.Len() < length; k++ {
		fmt.Fprintf(&text, "<%d>", k)
	}
	return text.String()[:length]
}

// keptContent returns what is left of a message's content, as a caller reads it and in the
// fields of its record.
func keptContent(s *story.Messages, id string) (content string, fields int) {
	s.Helper()
	found, err := story.RecordsIn(s, s.Client, s.Options.Prefix).Read(s.Context(), "alice", id)
	require.NoError(s, err)
	record, err := s.Client.HGetAll(s.Context(), story.KeysOf(s.Options).Record("alice", id)).Result()
	require.NoError(s, err)
	for name := range record {
		if name == "c" || name >= "0" && name <= "9" {
			fields++
		}
	}
	return string(found[0].Content), fields
}

func requireErased(s *story.Messages, id string) {
	s.Helper()
	content, fields := keptContent(s, id)
	require.Empty(s, content)
	require.Zero(s, fields)
}

// contentEnds are the ways in which a message ends without its content.
func contentEnds() map[string]func(s *story.Messages) {
	deliver := func(s *story.Messages) {
		claim := s.Claim("a", "g1", "n1")
		require.Equal(s, messages.Send, claim.Verdict)
		require.Equal(s, s.Field("a", "f"), string(claim.Content), "the fingerprint is the content")
		require.True(s, s.Settle("a", "g1", "n1", messages.Settlement{Outcome: messages.Delivered}))
	}
	return map[string]func(s *story.Messages){
		"cancelled": func(s *story.Messages) { require.True(s, s.Release("a").Allowed) },
		"delivered": func(s *story.Messages) { s.Until("11:00"); deliver(s) },
		"expired": func(s *story.Messages) {
			s.Wait(50 * time.Hour)
			require.Equal(s, messages.Dropped, s.Claim("a", "g1", "n1").Verdict)
		},
	}
}

func TestContentsAreKeptWholeAndErasedWhole(t *testing.T) {
	t.Parallel()
	for end, do := range contentEnds() {
		for _, length := range contentLengths() {
			t.Run(fmt.Sprintf("%s/%d", end, length), func(t *testing.T) {
				t.Parallel()
				s := story.NewMessages(t, "1/hour")
				require.True(t, s.Submit("a", "11:00", "g1", contentOf(length)).Allowed)
				content, fields := keptContent(s, "a")
				require.Equal(t, contentOf(length), content)
				if length <= 512 {
					require.Equal(t, (length+63)/64, fields)
				} else {
					require.Equal(t, 1, fields)
				}
				do(s)
				requireErased(s, "a")
			})
		}
	}
}

// An id that is given back and submitted again has nothing of the former content.
func TestANewContentReplacesALongerOne(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/hour")
	require.True(t, s.Submit("a", "11:00", "g1", contentOf(512)).Allowed)
	s.Until("11:00")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	content, _ := keptContent(s.Messages, "a")
	require.Equal(t, contentOf(512), content, "a dead letter can be sent after all")

	require.True(t, s.Submit("a", "12:30", "g2", contentOf(64)).Allowed)
	content, fields := keptContent(s.Messages, "a")
	require.Equal(t, contentOf(64), content)
	require.Equal(t, 1, fields)
}

func TestARevivedMessageHasItsWholeContent(t *testing.T) {
	t.Parallel()
	s := newDeadStory(t, "1/hour")
	require.True(t, s.Submit("a", "11:00", "g1", contentOf(150)).Allowed)
	s.Until("11:00")
	s.deliverAs("a", messages.Settlement{Outcome: messages.Failed, Reason: "gone"})
	require.True(t, s.retry("a", "g2").Allowed)
	require.Equal(t, contentOf(150), string(s.Claim("a", "g2", "n2").Content))
}

// The record of a pending message is in the compact encoding of Redis unless its content is
// long, and that of a delivered one always is.
func TestRecordsAreCompact(t *testing.T) {
	t.Parallel()
	const compact = "listpack"
	client := redistest.Real(t).Client()
	o := sendlimit.Options{Records: true, Rules: story.RulesBy(t, story.PolicyOf(t, "1/hour"))}
	timeline, err := sendlimit.NewTimeline(client, o)
	require.NoError(t, err)
	gate, err := messages.NewGate(client, o)
	require.NoError(t, err)
	for length, want := range map[int]string{64: compact, 150: compact, 512: compact, 513: "hashtable"} {
		user := fmt.Sprint("user", length)
		generation, nonce, now := keyspace.NewToken(), keyspace.NewToken(), story.At("10:00")
		_, err := timeline.Reserve(t.Context(), sendlimit.Request{
			User: user, ID: "a", At: now, Now: now,
			Record: &sendlimit.Record{Generation: generation, Fingerprint: "mark", Content: []byte(contentOf(length))},
		})
		require.NoError(t, err)
		require.Equal(t, want, encodingOf(t, client, o, user), length)

		d := messages.Delivery{User: user, ID: "a", Generation: generation, Nonce: nonce}
		claim, err := gate.Claim(t.Context(), d, time.Minute, now)
		require.NoError(t, err)
		require.Equal(t, contentOf(length), string(claim.Content))
		require.Equal(t, want, encodingOf(t, client, o, user), length)
		settled, err := gate.Settle(t.Context(), d, messages.Settlement{Outcome: messages.Delivered}, now)
		require.NoError(t, err)
		require.True(t, settled)
		require.Equal(t, compact, encodingOf(t, client, o, user), length)
	}
}

func encodingOf(t *testing.T, client *redis.Client, o sendlimit.Options, user string) string {
	t.Helper()
	encoding, err := client.ObjectEncoding(t.Context(), story.KeysOf(o).Record(user, "a")).Result()
	require.NoError(t, err)
	return encoding
}
