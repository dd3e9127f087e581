package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api/apitest"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// sentLines are lines of messages that another system sent at the end of the 20th, or did not send.
func sentLines() []string {
	return []string{
		`{"id":"s1","user":"alice","send_at":"2026-11-20T23:00:00Z"}`,
		`{"id":"s2","user":"alice","send_at":"2026-11-20T23:00:01Z","title":"Hi","category":"news","campaign":"spring"}`,
		`{"id":"s1","user":"alice","send_at":"2026-11-20T23:00:00Z"}`,
		`{"id":"s1","user":"alice","send_at":"2026-11-20T23:30:00Z"}`,
		`{"id":"old","user":"alice","send_at":"2020-01-01T00:00:00Z"}`,
		`{"id":"s3","user":"alice","send_at":"2026-11-22T23:00:00Z"}`,
		`{"id":"s4","user":"alice","send_at":"now"}`,
		`{"id":"s5","user":"","send_at":"2026-11-20T23:00:00Z"}`,
		`not JSON`,
	}
}

// Messages that another system sent count, but are not judged or delivered. Sent again, the lines
// change nothing.
func TestSendsOfAnotherSystemAreRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outcomes := r.judged("", recordSentPath, sentLines()...)
	require.Equal(t, []string{
		message.Recorded, message.Recorded, message.Recorded, message.Refused, message.Recorded,
		message.Invalid, message.Invalid, message.Invalid, message.Invalid,
	}, kinds(outcomes))
	require.Equal(t, []bool{false, false, true}, []bool{outcomes[0].Replayed, outcomes[1].Replayed, outcomes[2].Replayed})
	require.Equal(t, fault.CodeIDReused, outcomes[3].Code)
	require.True(t, outcomes[4].Forgotten)
	require.Equal(t, []string{"send_at", "send_at", "user"}, []string{outcomes[5].Field, outcomes[6].Field, outcomes[7].Field})
	for i, o := range outcomes {
		require.Equal(t, i+1, o.Line)
	}
	usage := into[message.Usage](t, http.StatusOK, r.get("/v1/users/alice/usage?from=2026-11-20T00:00:00Z&until=2026-11-21T00:00:00Z"))
	require.Len(t, usage.Sends, 2)

	before := r.store.Dump()
	again := r.judged("", recordSentPath, sentLines()...)
	require.Equal(t, kinds(outcomes), kinds(again))
	require.Equal(t, apitest.WithoutLog(before), apitest.WithoutLog(r.store.Dump()))
	refused := r.send(ndjsonOf(recordSentPath+"?without_free_times=true", sentLines()...))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status, "nothing has free times")
}
