package notifiertest

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// HTTPSuite makes a channel that delivers over HTTP. All fields but Secrets are required.
type HTTPSuite struct {
	// New returns a channel with a provider at baseURL, which has no path. One try
	// takes at most timeout. It cleans up with t.Cleanup.
	New func(t *testing.T, baseURL string, timeout time.Duration) notifier.Notifier
	// Statuses has the meanings of all statuses from 200 to 599. The first row with a status counts.
	Statuses []StatusRow
	// MaxRetryAfter is the longest wait that the channel accepts from a provider.
	MaxRetryAfter time.Duration
	// Spread reports that the channel waits up to a tenth longer than a provider asks for.
	// DefaultPause is how long it waits after a SlowDown without a time; required if it has one.
	Spread       bool
	DefaultPause time.Duration
	// Twice are the statuses after which the channel tries once more, with new credentials.
	Twice []int
	// Pauses has the pauses other than DefaultPause, by status.
	Pauses map[int]time.Duration
	// Key finds the idempotency key in a request.
	Key func(Request) string
	// Secrets are parts of the channel's settings that no error may show.
	Secrets []string
}

// StatusRow is the meaning of the HTTP statuses First to Last.
type StatusRow struct {
	First, Last int
	Status      notifier.Status
	Reason      notifier.Reason
}

// RunHTTP runs the tests of Run, and tests the promises about every channel over HTTP.
func RunHTTP(t *testing.T, s HTTPSuite) {
	t.Helper()
	Run(t, Suite{
		New: func(t *testing.T) notifier.Notifier {
			t.Helper()
			return s.New(t, receiver(t).URL(), patience)
		},
		Failing: func(t *testing.T) notifier.Notifier {
			t.Helper()
			provider := receiver(t)
			provider.AnswerWith(func(r Request) Answer {
				// A provider may repeat the refused content.
				return Answer{Status: http.StatusBadRequest, Body: string(r.Body)}
			})
			return s.New(t, provider.URL(), patience)
		},
		Stuck: func(t *testing.T) notifier.Notifier {
			t.Helper()
			provider := receiver(t)
			provider.AnswerWith(func(Request) Answer { return Answer{Delay: time.Hour} })
			return s.New(t, provider.URL(), time.Minute)
		},
		Secrets: s.Secrets,
	})
	t.Run("every status, one request a try", s.everyStatus)
	t.Run("a time to retry", s.retryAfter)
	t.Run("one key for all tries of a message", s.keys)
	t.Run("a context that ends while waiting", s.endsWaiting)
	t.Run("nobody listens", s.nobodyListens)
	t.Run("faults", s.faults)
	t.Run("a kept connection that breaks is not tried again", s.noResend)
	t.Run("connections are used again", s.reuse)
}

// everyStatus also makes every 3xx point at another server, which must get no request.
func (s HTTPSuite) everyStatus(t *testing.T) {
	t.Parallel()
	elsewhere := receiver(t)
	provider := receiver(t)
	channel := s.New(t, provider.URL(), patience)
	for status := 200; status <= 599; status++ {
		answer := Answer{Status: status}
		if status >= 300 && status <= 399 {
			answer.Header = http.Header{"Location": {elsewhere.URL() + "/moved"}}
		}
		want := 1
		if slices.Contains(s.Twice, status) {
			want = 2
			provider.Script(answer)
		}
		provider.Script(answer)
		before := len(provider.Requests())
		result := channel.Notify(t.Context(), sample("alice", "id-1"))
		require.Len(t, provider.Requests(), before+want, "status %d", status)
		s.requireSound(t, result, provider.URL())
		row, ok := s.meaning(status)
		require.True(t, ok, "no row for status %d", status)
		require.Equal(t, row.Status, result.Status, "status %d", status)
		require.Equal(t, row.Reason, result.Reason, "status %d", status)
		require.False(t, result.Uncertain(), "status %d is an answer", status)
	}
	require.Len(t, provider.Requests(), 400+len(s.Twice), "one request a try")
	require.Empty(t, elsewhere.Requests(), "a redirect was followed")
}

func (s HTTPSuite) meaning(status int) (StatusRow, bool) {
	for _, row := range s.Statuses {
		if row.First <= status && status <= row.Last {
			return row, true
		}
	}
	return StatusRow{}, false
}

func (s HTTPSuite) retryAfter(t *testing.T) {
	t.Parallel()
	provider := receiver(t)
	channel := s.New(t, provider.URL(), patience)
	answered := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	for _, row := range []struct {
		value string
		want  time.Duration
	}{
		{"", 0},
		{"0", 0},
		{"1", time.Second},
		{"120", 2 * time.Minute},
		{"315360000", s.MaxRetryAfter}, // ten years
		{"99999999999999999999999", s.MaxRetryAfter}, // no integer type holds it
		{"18446744073709551617", s.MaxRetryAfter},    // 1 if integers wrap around
		{"9223372037", s.MaxRetryAfter},              // in nanoseconds it wraps around
		{"-5", 0},                                    // not a delay
		{"+5", 0},                                    // nor is this
		{"1.5", 0},                                   // seconds are whole
		{"5s", 0},                                    // and have no unit
		{"soon", 0},                                  //
		{"Sun, 22 Nov 2026 11:12:41 GMT", 90 * time.Second},
		{"Sunday, 22-Nov-26 11:12:41 GMT", 90 * time.Second}, // obsolete, but must be read
		{"Sun Nov 22 11:12:41 2026", 90 * time.Second},       // likewise
		{"Sun, 22 Nov 2026 11:11:11 GMT", 0},
		{"Sun, 22 Nov 2026 11:10:11 GMT", 0}, // already past
		{"Fri, 31 Dec 9999 23:59:59 GMT", s.MaxRetryAfter},
		{"2026-11-22T11:12:41Z", 0}, // not an HTTP date
	} {
		for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			provider.Script(Answer{Status: status, Header: http.Header{
				"Date":        {answered.Format(http.TimeFormat)},
				"Retry-After": {row.value},
			}})
			result := channel.Notify(t.Context(), sample("alice", "id-1"))
			s.requireSound(t, result, provider.URL())
			want := row.want
			if result.Status == notifier.SlowDown && want == 0 {
				want = s.DefaultPause
				if pause, ok := s.Pauses[status]; ok {
					want = pause
				}
			} else if result.Status != notifier.SlowDown {
				require.Equal(t, notifier.Retry, result.Status)
			}
			longest := want
			if s.Spread {
				longest += want / 10
			}
			require.GreaterOrEqual(t, result.RetryAfter, want, "%d with Retry-After %q", status, row.value)
			require.LessOrEqual(t, result.RetryAfter, longest, "%d with Retry-After %q", status, row.value)
		}
	}
	for _, status := range []int{http.StatusOK, http.StatusFound, http.StatusBadRequest} {
		provider.Script(Answer{Status: status, Header: http.Header{"Retry-After": {"120"}}})
		result := channel.Notify(t.Context(), sample("alice", "id-1"))
		s.requireSound(t, result, provider.URL())
		require.Zero(t, result.RetryAfter, "status %d is not tried again", status)
	}
}

func (s HTTPSuite) keys(t *testing.T) {
	t.Parallel()
	provider := receiver(t)
	provider.Script(Answer{Status: http.StatusServiceUnavailable}, Answer{Status: http.StatusTooManyRequests})
	channel := s.New(t, provider.URL(), patience)
	tries := make([]notifier.Notification, 5)
	for i := range 3 {
		tries[i] = sample("alice", "id-1")
		tries[i].Attempt = i + 1
	}
	tries[3], tries[4] = sample("alice", "id-2"), sample("bob", "id-1")
	keys := make([]string, len(tries))
	for i, n := range tries {
		s.requireSound(t, channel.Notify(t.Context(), n), provider.URL())
		requests := provider.Requests()
		require.Len(t, requests, i+1)
		keys[i] = s.Key(requests[i])
	}
	require.NotEmpty(t, keys[0])
	require.Equal(t, []string{keys[0], keys[0]}, keys[1:3], "tries of one message")
	require.NotEqual(t, keys[0], keys[3], "another message of the user")
	require.NotEqual(t, keys[0], keys[4], "a message of another user with the same id")
}

func (s HTTPSuite) endsWaiting(t *testing.T) {
	t.Parallel()
	provider := receiver(t)
	provider.AnswerWith(func(Request) Answer { return Answer{Delay: time.Hour} })
	channel := s.New(t, provider.URL(), time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	arrived := make(chan error, 1)
	go func() {
		_, err := provider.Wait(t.Context(), 1)
		cancel()
		arrived <- err
	}()
	result := channel.Notify(ctx, sample("alice", "id-1"))
	require.NoError(t, <-arrived)
	s.requireSound(t, result, provider.URL())
	require.Equal(t, notifier.Retry, result.Status)
	require.Equal(t, notifier.ReasonTimeout, result.Reason)
	require.True(t, result.Uncertain(), "it has arrived")
}

func (s HTTPSuite) nobodyListens(t *testing.T) {
	t.Parallel()
	gone := receiver(t)
	gone.Close()
	result := s.New(t, gone.URL(), patience).Notify(t.Context(), sample("alice", "id-1"))
	s.requireSound(t, result, gone.URL())
	require.Equal(t, notifier.Retry, result.Status)
	require.Equal(t, notifier.ReasonUnreachable, result.Reason)
	require.False(t, result.Uncertain(), "nothing was sent")
}

func (s HTTPSuite) requireSound(t *testing.T, result notifier.Result, baseURL string) {
	t.Helper()
	host := baseURL[len("http://"):]
	requireSound(t, result, append([]string{host}, s.Secrets...))
}

func receiver(t *testing.T) *Receiver {
	t.Helper()
	r := NewReceiver(time.Now)
	t.Cleanup(r.Close)
	return r
}
