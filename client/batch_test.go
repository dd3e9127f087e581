package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// numbered yields n messages with the titles 0 to n-1.
func numbered(n int) iter.Seq[client.Message] {
	return func(yield func(client.Message) bool) {
		for i := range n {
			if !yield(client.Message{User: "alice", SendAt: at("2026-11-22T11:11:11Z"), Title: strconv.Itoa(i)}) {
				return
			}
		}
	}
}

// line is a line that a batch's server reads.
type line struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// streaming answers a batch line by line while it is read. judge returns the answer to the n-th
// line, from 1; "" breaks the connection.
func streaming(t *testing.T, w http.ResponseWriter, r *http.Request, judge func(n int, l line) string) {
	t.Helper()
	control := http.NewResponseController(w)
	if err := control.EnableFullDuplex(); err != nil {
		t.Errorf("full duplex: %v", err)
	}
	w.Header().Set("Content-Type", ndjson)
	w.WriteHeader(http.StatusOK)
	lines := bufio.NewReader(r.Body)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n') // of a stream that was left, half a line may come
		if err != nil {
			return
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Errorf("line %d: %v", n, err)
		}
		answer := judge(n, l)
		if answer == "" {
			panic(http.ErrAbortHandler)
		}
		if _, err := io.WriteString(w, answer+"\n"); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
	}
}

// acceptLine answers with an id that says which line it was.
func acceptLine(n int, l line) string {
	return fmt.Sprintf(`{"outcome":"accepted","line":%d,"id":%q,"user":%q}`, n, l.ID, l.Title)
}

func TestABatchAnswersEveryMessageInOrder(t *testing.T) {
	t.Parallel()
	const n = 5000 // several times what is under way at a time
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
		if r.Method+r.URL.Path+r.Header.Get("Content-Type") != "POST/v1/messages/batch"+ndjson {
			t.Errorf("%s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
		}
		streaming(t, w, r, func(n int, l line) string {
			switch {
			case n%3 == 0:
				return fmt.Sprintf(`{"outcome":"refused","line":%d,"code":"send_limit","detail":"in the way","next_free_at":"2026-11-22T11:12:11.000Z"}`, n)
			case n%5 == 0:
				return fmt.Sprintf(`{"outcome":"invalid","line":%d,"code":"in_past","field":"send_at"}`, n)
			default:
				return acceptLine(n, l)
			}
		})
	})
	ids := make(map[string]bool)
	i := 0
	for result, err := range c.SubmitBatch(t.Context(), numbered(n)) {
		require.NoError(t, err)
		require.Equal(t, i, result.Index)
		switch line := i + 1; {
		case line%3 == 0:
			refusal, ok := errors.AsType[*client.Refusal](result.Err)
			require.True(t, ok)
			require.Equal(t, at("2026-11-22T11:12:11Z"), refusal.NextFreeAt.Time)
		case line%5 == 0:
			wrong, ok := errors.AsType[*client.InvalidError](result.Err)
			require.True(t, ok)
			require.Equal(t, client.CodeInPast, wrong.Code)
		default:
			require.NoError(t, result.Err)
			require.Equal(t, strconv.Itoa(i), result.Accepted.User, "the answer to this message")
			ids[result.Accepted.ID] = true
		}
		i++
	}
	require.Equal(t, n, i)
	require.Len(t, ids, 2667, "each has an id of its own")
}

func TestABatchOfNothingAsksNothing(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(http.ResponseWriter, *http.Request) { t.Error("a request") })
	for result, err := range c.SubmitBatch(t.Context(), numbered(0)) {
		require.Fail(t, "a result", "%v %v", result, err)
	}
}

// The answer to a message comes while the next one is not there yet.
func TestABatchStreams(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) { streaming(t, w, r, acceptLine) })
	answered := make(chan struct{})
	messages := func(yield func(client.Message) bool) {
		for m := range numbered(5) {
			if !yield(m) {
				return
			}
			<-answered
		}
	}
	n := 0
	for _, err := range c.SubmitBatch(t.Context(), messages) {
		require.NoError(t, err)
		n++
		answered <- struct{}{}
	}
	require.Equal(t, 5, n)
}

// The API ends a stream into which nothing has come for long, and the next
// message goes into another.
func TestABatchOutlivesAnIdleStream(t *testing.T) {
	t.Parallel()
	var requests counted
	ended := make(chan struct{}, 3)
	c := serve(t, client.Options{Attempts: 2}, func(w http.ResponseWriter, r *http.Request) {
		requests.next()
		w.Header().Set("Connection", "close")
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		text, err := bufio.NewReader(r.Body).ReadBytes('\n')
		var l line
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil {
			t.Error(err)
		}
		reply(w, ndjson, http.StatusOK, acceptLine(1, l)+"\n")
		_ = control.Flush()
		_, _ = io.WriteString(w, `{"outcome":"error","code":"unavailable","line":2,"detail":"no whole line came"}`+"\n")
		_ = control.Flush()
		ended <- struct{}{}
	})
	messages := func(yield func(client.Message) bool) {
		for m := range numbered(3) {
			if !yield(m) {
				return
			}
			<-ended
		}
	}
	n := 0
	for result, err := range c.SubmitBatch(t.Context(), messages) {
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(n), result.Accepted.User)
		n++
	}
	require.Equal(t, 3, n)
	require.EqualValues(t, 3, requests.Load())
}

// Whoever is slow with the results is not asked for ever more messages.
func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) { streaming(t, w, r, acceptLine) })
	var asked atomic.Int64
	messages := func(yield func(client.Message) bool) {
		for m := range numbered(20_000) {
			asked.Add(1)
			if !yield(m) {
				return
			}
		}
	}
	n := int64(0)
	for _, err := range c.SubmitBatch(t.Context(), messages) {
		require.NoError(t, err)
		n++
		require.LessOrEqual(t, asked.Load()-n, int64(1024+64+2))
	}
	require.EqualValues(t, 20_000, n)
}

// After a broken stream, a new one sends the unanswered messages with the same ids. Each message is
// answered exactly once.
func TestABatchGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(n int) string{
		"cut":         func(int) string { return "" },
		"unavailable": func(n int) string { return fmt.Sprintf(`{"outcome":"error","code":"unavailable","line":%d}`, n) },
		"being stopped": func(n int) string {
			return fmt.Sprintf(`{"outcome":"error","code":"unavailable","line":%d,"detail":"this server stops"}`, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests counted
			accepted := map[string]string{} // by title: handlers run one after the other
			c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
				request := requests.next()
				if request%2 == 0 {
					w.Header().Set("Retry-After", "0")
					reply(w, problemJSON, http.StatusServiceUnavailable, `{"outcome":"error","code":"unavailable"}`)
					return
				}
				streaming(t, w, r, func(n int, l line) string {
					if request < 6 && n == 100 {
						return fault(n)
					}
					if was, before := accepted[l.Title]; before && was != l.ID {
						t.Errorf("message %s came under another id", l.Title)
					}
					accepted[l.Title] = l.ID
					return acceptLine(n, l)
				})
			})
			var got []string
			for result, err := range c.SubmitBatch(t.Context(), numbered(1000)) {
				require.NoError(t, err)
				require.Equal(t, len(got), result.Index)
				got = append(got, result.Accepted.User)
			}
			want := make([]string, 1000)
			for i := range want {
				want[i] = strconv.Itoa(i)
			}
			require.Equal(t, want, got)
			require.EqualValues(t, 7, requests.Load())
		})
	}
}

func TestABatchThatEndsSaysWhatHasNoAnswer(t *testing.T) {
	t.Parallel()
	var ids []string
	c := serve(t, client.Options{Attempts: 2}, func(w http.ResponseWriter, r *http.Request) {
		streaming(t, w, r, func(n int, l line) string {
			if len(ids) == 10 {
				return fmt.Sprintf(`{"outcome":"error","code":"store_full","line":%d,"detail":"the store is full"}`, n)
			}
			ids = append(ids, l.ID)
			return acceptLine(n, l)
		})
	})
	results := 0
	var ended *client.BatchError
	for result, err := range c.SubmitBatch(t.Context(), numbered(30)) {
		if err != nil {
			require.Zero(t, result)
			require.Nil(t, ended, "once")
			require.ErrorAs(t, err, &ended)
			continue
		}
		results++
	}
	require.Equal(t, 10, results)
	require.NotNil(t, ended)
	full, ok := errors.AsType[*client.UnavailableError](ended)
	require.True(t, ok)
	require.Equal(t, client.CodeStoreFull, full.Code)
	require.ErrorContains(t, ended, "messages unanswered: submit a batch: the store is full")
	for i, m := range ended.Unanswered {
		require.Equal(t, strconv.Itoa(10+i), m.Title, "in order, without a gap")
		require.NotEmpty(t, m.ID)
		require.NotContains(t, ids, m.ID)
	}
	require.NotEmpty(t, ended.Unanswered)
}

// A batch that has used up its account's lines continues when the API says.
func TestABatchThatIsTooFastContinues(t *testing.T) {
	t.Parallel()
	for seconds, continues := range map[int]bool{1: true, 31: false} {
		var requests atomic.Int64
		c := serve(t, client.Options{Attempts: 2, MaxRetryAfter: 30 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
			first := requests.Add(1) == 1
			streaming(t, w, r, func(n int, l line) string {
				if first && n == 4 {
					return fmt.Sprintf(`{"outcome":"error","code":"rate_limited","line":%d,"detail":"used up","retry_after_seconds":%d}`, n, seconds)
				}
				return acceptLine(n, l)
			})
		})
		began, results := time.Now(), 0
		var last error
		for _, err := range c.SubmitBatch(t.Context(), numbered(10)) {
			if last = err; err == nil {
				results++
			}
		}
		if continues {
			require.NoError(t, last)
			require.Equal(t, 10, results)
			require.GreaterOrEqual(t, time.Since(began), time.Second)
			continue
		}
		require.Equal(t, 3, results)
		refusal, ok := errors.AsType[*client.Refusal](last)
		require.True(t, ok, "%v", last)
		require.Equal(t, client.CodeRateLimited, refusal.Code)
		require.Equal(t, 31*time.Second, refusal.RetryAfter)
	}
}

// An error that a retry can't fix ends a batch at once.
func TestABatchThatTheAPIDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"unauthorized": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, problemJSON, http.StatusUnauthorized, `{"outcome":"error","code":"unauthorized"}`)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, "text/html", http.StatusOK, "<h1>It works!</h1>")
		},
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { reply(w, ndjson, http.StatusOK, "accepted\n") },
		"no outcome": func(w http.ResponseWriter, _ *http.Request) { reply(w, ndjson, http.StatusOK, "{}\n") },
		"another line": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, ndjson, http.StatusOK, `{"outcome":"accepted","line":2}`+"\n")
		},
		"internal": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, ndjson, http.StatusOK, `{"outcome":"error","code":"internal","line":1}`+"\n")
		},
		"a line without an end": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, ndjson, http.StatusOK, strings.Repeat(" ", 2<<20))
		},
		"more answers than messages": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for n := range 4 {
				_, _ = fmt.Fprintln(w, acceptLine(n+1, line{}))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests counted
			c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
				requests.next()
				w.Header().Set("Content-Type", ndjson)
				answer(w, r)
			})
			var last error
			for _, err := range c.SubmitBatch(t.Context(), numbered(3)) {
				last = err
			}
			require.ErrorAs(t, last, new(*client.ResponseError))
			require.EqualValues(t, 1, requests.Load())
		})
	}
}

// A message that JSON can't carry has its own result, in its place.
func TestABadMessageDoesNotEndABatch(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
		streaming(t, w, r, func(n int, l line) string {
			if l.Title == "" {
				return fmt.Sprintf(`{"outcome":"invalid","line":%d,"code":"invalid_field","field":"user"}`, n)
			}
			return acceptLine(n, l)
		})
	})
	messages := slices.Collect(numbered(3))
	messages[1].Body = "\xff"
	var errs []error
	for result, err := range c.SubmitBatch(t.Context(), slices.Values(messages)) {
		require.NoError(t, err)
		errs = append(errs, result.Err)
	}
	require.Len(t, errs, 3)
	require.NoError(t, errs[0])
	require.EqualError(t, errs[1], "body takes UTF-8")
	require.NoError(t, errs[2])
}

func TestABatchIsLeftEarly(t *testing.T) {
	t.Parallel()
	c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) { streaming(t, w, r, acceptLine) })
	ended := false
	messages := func(yield func(client.Message) bool) {
		defer func() { ended = true }()
		numbered(100_000)(yield)
	}
	n := 0
	for _, err := range c.SubmitBatch(t.Context(), messages) {
		require.NoError(t, err)
		if n++; n == 10 {
			break
		}
	}
	require.True(t, ended, "nothing runs on")
	require.PanicsWithValue(t, "mine", func() {
		for _, err := range c.SubmitBatch(t.Context(), numbered(100)) {
			require.NoError(t, err)
			panic("mine")
		}
	})
}

func TestABatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	over := make(chan struct{})
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		streaming(t, w, r, func(n int, l line) string {
			if n == 5 {
				cancel()
				<-over
			}
			return acceptLine(n, l)
		})
	})
	var last error
	for _, err := range c.SubmitBatch(ctx, numbered(100)) {
		last = err
	}
	close(over)
	require.ErrorIs(t, last, context.Canceled)
	ended, ok := errors.AsType[*client.BatchError](last)
	require.True(t, ok)
	require.NotEmpty(t, ended.Unanswered)
}

// A server that takes messages and does not answer any more is left.
func TestABatchThatStalls(t *testing.T) {
	t.Parallel()
	var requests counted
	over := make(chan struct{})
	c := serve(t, client.Options{Timeout: 3 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
		first := requests.next() == 1
		streaming(t, w, r, func(n int, l line) string {
			if first && n == 3 {
				<-over
				return ""
			}
			return acceptLine(n, l)
		})
	})
	n := 0
	for _, err := range c.SubmitBatch(t.Context(), numbered(10)) {
		require.NoError(t, err)
		n++
	}
	close(over)
	require.Equal(t, 10, n)
	require.EqualValues(t, 2, requests.Load())
}
