package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/dashboard"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/overview"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

const (
	// pageTries is how often each page is asked for, after a first time.
	pageTries = 30
	// manyBrowsers is how many follow in the end.
	manyBrowsers = 100
)

// measureDashboard measures how soon pages of the dashboard begin to come with many pending
// messages in the store, and what browsers that follow the overview cost Redis.
func measureDashboard(ctx context.Context, size sizes) (rows []row, err error) {
	s, err := openStore(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	pending := slices.Max(size.pendingUsers)
	if err := errors.Join(s.seedPolicy(ctx, "sr"), s.fillPending(ctx, newSchedule(pending, 1).over(forecastOver), pending)); err != nil {
		return nil, err
	}
	server, end, err := s.serveDashboard(ctx, "sr")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	worst, figures, err := slowestPage(ctx, server.URL)
	if err != nil {
		return nil, err
	}
	idle, err := s.followed(ctx, server.URL, 0, size.follow)
	if err != nil {
		return nil, err
	}
	one, err := s.followed(ctx, server.URL, 1, size.follow)
	if err != nil {
		return nil, err
	}
	many, err := s.followed(ctx, server.URL, manyBrowsers, size.follow)
	if err != nil {
		return nil, err
	}
	shares := fmt.Sprintf("of the main thread of Redis: %.2f %% without a browser, %.2f %% with one, %.2f %% with %d", 100*idle, 100*one, 100*many, manyBrowsers)
	return []row{
		{
			Name: "dashboard-page", What: fmt.Sprintf("slowest first byte of a page, with %d pending messages", pending), Goal: "≤ 100 ms",
			Measured: fmt.Sprintf("%.1f ms", milliseconds(worst)), Verdict: judge(worst <= 100*time.Millisecond), Figures: figures,
		},
		atMost("dashboard-many", "Redis time with 100 browsers that follow the overview / with one", many/max(one, 1e-6), 3, shares),
	}, nil
}

// slowestPage returns the slowest first byte of any page, and figures of each.
func slowestPage(ctx context.Context, address string) (worst time.Duration, figures []string, err error) {
	for _, page := range dashboardPages() {
		median, slowest, err := firstByte(ctx, address+page)
		if err != nil {
			return 0, nil, err
		}
		worst = max(worst, slowest)
		figures = append(figures, fmt.Sprintf("%s: median %.1f ms, slowest %.1f ms", page, milliseconds(median), milliseconds(slowest)))
	}
	return worst, figures, nil
}

// dashboardPages are the pages that are asked for.
func dashboardPages() []string {
	user := url.QueryEscape(userName(17))
	return []string{
		"/", "/users", "/user?name=" + user, "/messages", "/messages?status=scheduled", "/messages?user_prefix=user0000", "/campaign?name=autumn",
		"/policies", "/policy?name=default", "/schedule", "/accounts", "/dead-letters", "/workers", "/audit",
	}
}

// serveDashboard serves the dashboard with its API. The function that it returns ends them.
func (s *store) serveDashboard(ctx context.Context, prefix string) (*httptest.Server, func() error, error) {
	opened, err := backend.Open(s.client, backend.Options{Options: sendlimit.Options{Prefix: prefix}})
	if err != nil {
		return nil, nil, fmt.Errorf("backend: %w", err)
	}
	api, submitter, end, err := openAPI(opened, submit.Options{Batch: true})
	if err != nil {
		return nil, nil, err
	}
	known := accounts.New(s.client, keyspace.KeysUnder(prefix))
	sessions := session.New(s.client, keyspace.KeysUnder(prefix), known)
	reader, err := overview.New(opened)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("overview: %w", err), end())
	}
	if _, err := opened.Forecasts.Keep(ctx, time.Time{}); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("forecast: %w", err), end())
	}
	pages, err := dashboard.New(dashboard.Options{
		API: api, Sessions: sessions, Overview: reader, Timeline: submitter.Timeline, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("dashboard: %w", err), end())
	}
	server := httptest.NewServer(pages)
	return server, func() error {
		server.CloseClientConnections()
		server.Close()
		return end()
	}, nil
}

// firstByte returns how soon an answer begins to come.
func firstByte(ctx context.Context, address string) (median, slowest time.Duration, err error) {
	var took []time.Duration
	for try := range pageTries + 1 {
		began := time.Now()
		response, err := getPage(ctx, address)
		if err != nil {
			return 0, 0, err
		}
		if try > 0 {
			took = append(took, time.Since(began))
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			return 0, 0, fmt.Errorf("read a page: %w", err)
		}
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1], nil
}

func getPage(ctx context.Context, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask for a page: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask for a page: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("a page answers with the status %d", response.StatusCode), response.Body.Close())
	}
	return response, nil
}

// followed returns the share of its time that the main thread of Redis works while so many
// browsers follow the overview.
func (s *store) followed(ctx context.Context, address string, browsers int, span time.Duration) (share float64, err error) {
	following, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	for range browsers {
		response, err := getPage(following, address+"/live")
		if err != nil {
			return 0, err
		}
		reading.Go(func() {
			_, _ = io.Copy(io.Discard, response.Body) // until it is stopped
			_ = response.Body.Close()
		})
	}
	before, err := s.mainThread(ctx)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return 0, fmt.Errorf("follow the overview: %w", ctx.Err())
	}
	after, err := s.mainThread(ctx)
	return (after - before).Seconds() / span.Seconds(), err
}
