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

// contentOf makes a content of a length in which no two fields are the same.
func contentOf(length int) string {
	var text strings.Builder
	for k := 0; text.Len() < length; k++ {
		fmt.Fprintf(&text, "<%d>", k)
	}
	return text.String()[:length]
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
