package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// BenchmarkPost is POST /v1/messages as the row api-submit measures it, to profile it.
func BenchmarkPost(b *testing.B) {
	s := benchStore(b)
	require.NoError(b, s.seedPolicy(b.Context(), ""))
	side := s.posting("", submit.Options{Batch: true}, newSchedule(100_000, 10))
	slice, err := side.prepare(b.N)
	require.NoError(b, err)
	benchDrive(b, slice.do)
	require.NoError(b, slice.finish())
}

// BenchmarkHandle is the same with the key of an account and without connections, as the row api-layer
// measures it.
func BenchmarkHandle(b *testing.B) {
	for _, name := range []string{"submit", "post"} {
		b.Run(name, func(b *testing.B) {
			s := benchStore(b)
			require.NoError(b, s.seedPolicy(b.Context(), ""))
			require.NoError(b, s.seedAccount(b.Context(), chargedAccount, ""))
			key, err := s.seedKey(b.Context(), chargedAccount, "")
			require.NoError(b, err)
			options, times := submit.Options{Batch: true}, newSchedule(100_000, 10)
			side := s.submittingFor(chargedAccount, "", options, times)
			if name == "post" {
				side = s.handling(key, "", options, times)
			}
			slice, err := side.prepare(b.N)
			require.NoError(b, err)
			benchDrive(b, slice.do)
			require.NoError(b, slice.finish())
		})
	}
}

// BenchmarkPostBare is what net/http takes of it on both ends, with a handler that does
// nothing, and with one that only calls Submit.
func BenchmarkPostBare(b *testing.B) {
	b.Run("nothing", func(b *testing.B) {
		benchHandler(b, func(context.Context, int) error { return nil })
	})
	b.Run("submit", func(b *testing.B) {
		s := benchStore(b)
		require.NoError(b, s.seedPolicy(b.Context(), ""))
		opened, err := backend.Open(s.client, backend.Options{})
		require.NoError(b, err)
		submitter, err := submit.New(opened, submit.Options{Batch: true})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, submitter.Close()) })
		times := newSchedule(100_000, 10)
		benchHandler(b, func(ctx context.Context, i int) error {
			r := times.request(i)
			return submitted(ctx, submitter, message.Message{User: r.User, SendAt: r.At, Title: title, Body: body})
		})
	})
}

// benchHandler measures requests to a handler that does the operation whose number is the
// body.
func benchHandler(b *testing.B, do operation) {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil {
			var i int
			i, err = strconv.Atoi(string(text))
			if err == nil {
				err = do(r.Context(), i)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))
	b.Cleanup(server.Close)
	transport := &http.Transport{MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers}
	b.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	benchDrive(b, func(ctx context.Context, i int) error {
		return post(ctx, client, server.URL, strconv.AppendInt(nil, int64(i), 10))
	})
}

// benchDrive measures operations of concurrent callers.
func benchDrive(b *testing.B, do operation) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	_, err := drive(b.Context(), b.N, do)
	b.StopTimer()
	require.NoError(b, err)
}
