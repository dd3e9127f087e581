package api_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
)

// asks returns a transport to a handler, and a request for it.
func asks(t *testing.T, handler http.HandlerFunc, body io.Reader) (*api.InProcess, *http.Request) {
	t.Helper()
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+batchPath, body)
	require.NoError(t, err)
	asked.Header.Set("Content-Type", "application/x-ndjson")
	return api.NewInProcess(handler, api.Hand{Operator: true}), asked
}

// A batch is answered line by line while its lines come.
func TestABatchInProcessIsStreamedBothWays(t *testing.T) {
	t.Parallel()
	body, lines := io.Pipe()
	process, asked := asks(t, newRig(t, locked).handler.ServeHTTP, body)
	go func() {
		_, _ = io.WriteString(lines, `{"user":"alice","send_at":"`+on22("11:11:11")+`","title":"Hi"}`+"\n")
	}()
	got, err := process.RoundTrip(asked)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, got.StatusCode)
	require.Equal(t, "application/x-ndjson", got.Header.Get("Content-Type"))
	answers := bufio.NewReader(got.Body)
	first, err := answers.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, first, `"accepted"`)
	_, err = io.WriteString(lines, `{"user":"alice","send_at":"`+on22("11:11:12")+`","title":"Hi"}`+"\n")
	require.NoError(t, err)
	second, err := answers.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, second, `"send_limit"`)
	require.NoError(t, lines.Close())
	rest, err := io.ReadAll(answers)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.NoError(t, got.Body.Close())
}

// An answer that is cut off is an error.
func TestAnAnswerInProcessThatIsCutOff(t *testing.T) {
	t.Parallel()
	process, asked := asks(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}, http.NoBody)
	got, err := process.RoundTrip(asked)
	require.NoError(t, err)
	text, err := io.ReadAll(got.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "half", string(text))
	require.NoError(t, got.Body.Close())
}

// Closing the answer early ends the request, and waits for its end.
func TestClosingAnAnswerInProcessEndsTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		process, asked := asks(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusAccepted)
			<-r.Context().Done()
			time.Sleep(time.Hour) // of this test's clock
			ended = true
		}, strings.NewReader("unread"))
		got, err := process.RoundTrip(asked)
		require.NoError(t, err)
		require.Equal(t, http.StatusAccepted, got.StatusCode)
		require.NoError(t, got.Body.Close())
		require.True(t, ended)
	})
}

// A caller who gives up early gets no answer.
func TestARequestInProcessThatEndsBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	ctx, giveUp := context.WithCancel(t.Context())
	ended := false
	process, asked := asks(t, func(_ http.ResponseWriter, r *http.Request) {
		giveUp()
		<-r.Context().Done()
		ended = true
	}, http.NoBody)
	_, err := process.RoundTrip(asked.WithContext(ctx))
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, ended)
}
