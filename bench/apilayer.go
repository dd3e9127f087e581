package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// maxLayer is the most processor time that a POST may take beside its Submit, µs.
const maxLayer = 25

// measureAPILayer compares the processor time of POST /v1/messages with the key of an account with
// that of the Submit behind it. The handler of the API gets whole requests: neither side has
// connections of HTTP. Most of it is the call that counts the request for its account.
func measureAPILayer(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, prefix := range []string{behindPrefix, apiPrefix} {
		if err := errors.Join(s.seedPolicy(ctx, prefix), s.seedAccount(ctx, chargedAccount, prefix)); err != nil {
			return nil, err
		}
	}
	key, err := s.seedKey(ctx, chargedAccount, apiPrefix)
	if err != nil {
		return nil, err
	}
	times := newSchedule(size.users, 1+(size.slices*size.submits+size.users-1)/size.users)
	options := submit.Options{Batch: true}
	sides := [2]*side{s.submittingFor(chargedAccount, behindPrefix, options, times), s.handling(key, apiPrefix, options, times)}
	var took [2][]float64 // µs for a message, of each slice
	for range size.slices {
		for i, of := range sides {
			one, err := processorTime(ctx, of, size.submits)
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], one)
		}
	}
	between := make([]float64, size.slices)
	for i := range between {
		between[i] = took[1][i] - took[0][i]
	}
	low, high := quartiles(between)
	return []row{{
		Name: "api-layer", What: "processor time of a POST /v1/messages in the API, without HTTP's connections and Submit",
		Goal:     fmt.Sprintf("≤ %d µs", maxLayer),
		Measured: fmt.Sprintf("%.1f µs", median(between)), Verdict: judge(median(between) <= maxLayer),
		Figures: []string{fmt.Sprintf("%.1f to %.1f µs; POST %.1f µs, Submit %.1f µs", low, high, median(took[1]), median(took[0]))},
	}}, nil
}

// processorTime returns the processor time of this process for one of n operations, µs.
func processorTime(ctx context.Context, of *side, n int) (float64, error) {
	slice, err := of.prepare(n)
	if err != nil {
		return 0, err
	}
	before, err := ownTime()
	if err != nil {
		return 0, errors.Join(err, slice.finish())
	}
	_, err = drive(ctx, n, slice.do)
	err = errors.Join(err, slice.finish())
	after, failed := ownTime()
	return float64((after - before).Nanoseconds()) / float64(time.Microsecond) / float64(n), errors.Join(err, failed)
}

// seedKey makes a key of an account that may submit.
func (s *store) seedKey(ctx context.Context, account, prefix string) (string, error) {
	directory := accounts.New(s.client, keyspace.KeysUnder(prefix))
	key, _, err := directory.AddKey(ctx, account, []accounts.Scope{accounts.ScopeSubmit}, time.Time{}, nil)
	if err != nil {
		return "", fmt.Errorf("key: %w", err)
	}
	return key, nil
}

// handling submits like posting, but calls the handler of the API, with the key of an account. Every
// slice has its own.
func (s *store) handling(key, prefix string, options submit.Options, times *schedule) *side {
	to := &turns{schedule: times}
	return &side{prepare: func(n int) (slice, error) {
		bodies, err := drafts(to.take(n))
		if err != nil {
			return slice{}, err
		}
		requests := make([]*http.Request, n)
		for i, body := range bodies {
			requests[i] = httptest.NewRequestWithContext(context.Background(), http.MethodPost, "http://localhost/v1/messages", bytes.NewReader(body))
			requests[i].Header.Set("Content-Type", "application/json")
			requests[i].Header.Set("Authorization", "Bearer "+key)
		}
		opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: prefix}})
		if err != nil {
			return slice{}, fmt.Errorf("backend: %w", err)
		}
		handler, _, end, err := openAPI(opened, options)
		if err != nil {
			return slice{}, err
		}
		return slice{
			do: func(ctx context.Context, i int) error {
				w := &noted{header: make(http.Header)}
				handler.ServeHTTP(w, requests[i].WithContext(ctx))
				if w.status != http.StatusCreated {
					return fmt.Errorf("post a message: HTTP status %d, where every time is free", w.status)
				}
				return nil
			},
			finish: end,
		}, nil
	}}
}

// noted is the writer of an answer of which only the status matters.
type noted struct {
	header http.Header
	status int
}

func (n *noted) Header() http.Header         { return n.header }
func (n *noted) WriteHeader(status int)      { n.status = status }
func (n *noted) Write(b []byte) (int, error) { return len(b), nil }

func (n *noted) SetReadDeadline(time.Time) error  { return nil }
func (n *noted) SetWriteDeadline(time.Time) error { return nil }
