package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"time"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/queue"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	apiPrefix    = "api"
	behindPrefix = "behind"
	// maxGrowth is the largest growth of the live heap over all requests after the
	// first slices, in bytes.
	maxGrowth = 4 << 20
)

// measureAPI compares POST /v1/messages over 64 connections with the library's Submit,
// and with the Submit behind the API, which sends callers' commands in batches. One
// process makes, sends, serves and reads the requests, so that two cores carry both
// ends of HTTP, while the library has them for itself.
func measureAPI(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, prefix := range []string{"", behindPrefix, apiPrefix} {
		if err := s.seedPolicy(ctx, prefix); err != nil {
			return nil, err
		}
	}
	each := 1 + (size.slices*size.submits+size.users-1)/size.users
	times := newSchedule(size.users, each)
	library := s.submitting("", submit.Options{}, times)
	behind := s.submitting(behindPrefix, submit.Options{Batch: true}, times)
	posted := s.posting(apiPrefix, submit.Options{Batch: true}, times)

	first := max(size.slices/4, 1)
	if err := s.interleave(ctx, first, size.submits, library, behind, posted); err != nil {
		return nil, err
	}
	before := liveHeap()
	if err := s.interleave(ctx, size.slices-first, size.submits, library, behind, posted); err != nil {
		return nil, err
	}
	growth := liveHeap() - before
	if err := s.checkQueued(ctx, size, queue.Name(""), queue.Name(behindPrefix), queue.Name(apiPrefix)); err != nil {
		return nil, err
	}
	requests := (size.slices - first) * size.submits
	return []row{
		atLeast("api-submit", "POST /v1/messages over 64 connections a second / the library's Submit",
			posted.rateOver(library), 0.5,
			fmt.Sprintf("POST %.0f/s, %s of Redis time", posted.rate(), posted.timing()),
			fmt.Sprintf("Submit %.0f/s, %s", library.rate(), library.timing())),
		state("api-behind", "the same / the Submit behind it, with submit.Options.Batch",
			fmt.Sprintf("%.2f × a second", posted.rateOver(behind)),
			fmt.Sprintf("Submit %.0f/s, %s", behind.rate(), behind.timing())),
		{
			Name: "api-memory", What: fmt.Sprintf("growth of the live heap over %d such requests", requests),
			Goal:     fmt.Sprintf("≤ %d MiB", maxGrowth>>20),
			Measured: fmt.Sprintf("%.2f MiB", float64(growth)/(1<<20)), Verdict: judge(growth <= maxGrowth),
			Figures: []string{fmt.Sprintf("%.2f MiB after the first slices, both ends of HTTP included", float64(before)/(1<<20))},
		},
	}, nil
}

// liveHeap returns how many bytes are in use after a collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what pools keep over one collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// posting submits like submitting, but through the API. Every slice has its own server.
func (s *store) posting(prefix string, options submit.Options, times *schedule) *side {
	to := &turns{schedule: times}
	return &side{prepare: func(n int) (slice, error) {
		bodies, err := drafts(to.take(n))
		if err != nil {
			return slice{}, err
		}
		server, closeServer, err := s.serveAPI(prefix, options)
		if err != nil {
			return slice{}, err
		}
		transport := &http.Transport{MaxIdleConnsPerHost: callers, MaxConnsPerHost: callers}
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		url := server.URL + "/v1/messages"
		return slice{
			do: func(ctx context.Context, i int) error { return post(ctx, client, url, bodies[i]) },
			finish: func() error {
				transport.CloseIdleConnections()
				return closeServer()
			},
		}, nil
	}}
}

// drafts returns requests as the API reads them.
func drafts(requests []sendlimit.Request) ([][]byte, error) {
	bodies := make([][]byte, len(requests))
	for i, r := range requests {
		draft := message.Draft{User: r.User, SendAt: message.When{Text: r.At.Format(message.TimeLayout)}, Title: title, Body: body}
		var err error
		if bodies[i], err = json.Marshal(draft); err != nil {
			return nil, fmt.Errorf("spell a message: %w", err)
		}
	}
	return bodies, nil
}

// serveAPI serves the API on the store. The function that it returns ends it.
func (s *store) serveAPI(prefix string, options submit.Options) (*httptest.Server, func() error, error) {
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: prefix}})
	if err != nil {
		return nil, nil, fmt.Errorf("backend: %w", err)
	}
	handler, _, end, err := openAPI(opened, options)
	if err != nil {
		return nil, nil, err
	}
	server := httptest.NewServer(handler)
	return server, func() error {
		server.Close()
		return end()
	}, nil
}

// openAPI returns the API on a backend with its submitter, and a function that ends both.
func openAPI(opened *backend.Backend, options submit.Options) (http.Handler, *submit.Submitter, func() error, error) {
	o, end, err := api.PartsOf(opened, api.PartOptions{Submits: options, Refits: refit.Options{Options: options}})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("parts of the API: %w", err)
	}
	o.Now, o.Stats = time.Now, func(context.Context) (message.Stats, error) { return message.Stats{}, nil }
	handler, err := api.New(o)
	if err != nil {
		return nil, nil, nil, errors.Join(fmt.Errorf("API: %w", err), end())
	}
	return handler, o.Submitter, end, nil
}

// post submits a message, and reads the whole answer.
func post(ctx context.Context, client *http.Client, url string, body []byte) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("post a message: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("post a message: %w", err)
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if response.StatusCode != http.StatusCreated {
		return fmt.Errorf("post a message: HTTP status %d, where every time is free: %s", response.StatusCode, answer)
	}
	return nil
}
