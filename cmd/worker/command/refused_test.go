package command

import (
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/rawtest"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// asked sends the text of a request and returns its answer, whose body may still come.
func asked(t *testing.T, address, text string) (status int, header http.Header, body io.Reader) {
	t.Helper()
	_, from := rawtest.Send(t, address, text)
	answer, err := http.ReadResponse(from, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer.StatusCode, answer.Header, answer.Body
}

// host returns the address of a worker's API.
func (r *running) host(t *testing.T) string {
	t.Helper()
	base, err := url.Parse(r.attribute(t, "API endpoint", "url"))
	require.NoError(t, err)
	return base.Host
}

func TestTheClientLearnsThatItsOpenBatchIsRefused(t *testing.T) {
	t.Parallel()
	worker := start(t, nil).started(t)
	c, err := client.New("http://"+worker.host(t), client.Options{Key: "sk_wrong"})
	require.NoError(t, err)
	refused := false
	for _, err := range c.SubmitBatch(t.Context(), func(yield func(client.Message) bool) {
		// Messages without an end: the stream is open when it is refused.
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for yield(client.Message{User: "alice", SendAt: time.Now().Add(time.Hour), Title: "Hi"}) {
			<-tick.C
		}
	}) {
		var answered *client.ResponseError
		require.ErrorAs(t, err, &answered)
		require.Equal(t, fault.CodeUnauthorized, answered.Code)
		refused = true
	}
	require.True(t, refused)
	require.NoError(t, worker.end(t))
}
