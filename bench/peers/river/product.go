package main

import (
	"context"
	_ "embed" // of the function
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

//go:embed take.sql
var schema string

const (
	// connections are fewer than callers: a server with two processors is slower with more.
	connections = 16
	// Tuned: River fetches at most every 100 ms, and polls every second, by which a scheduled job is late,
	// since no notification tells of it. It rescues the jobs of a killed worker after an hour; the time must
	// be above the timeout of a job, a minute by default.
	workers     = 500
	cooldown    = 10 * time.Millisecond
	poll        = 10 * time.Millisecond
	jobTimeout  = 10 * time.Second
	rescueAfter = 20 * time.Second
)

// push is a job.
type push struct {
	ID    string `json:"id"`
	User  string `json:"user"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Kind implements river.JobArgs.
func (push) Kind() string { return "push" }

// pusher works the jobs.
type pusher struct {
	river.WorkerDefaults[push]

	deliver func(id string) error
}

// Work implements river.Worker.
func (p pusher) Work(_ context.Context, job *river.Job[push]) error { return p.deliver(job.Args.ID) }

// product implements side.Product.
type product struct {
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	working bool
}

// Open implements side.Product.
func (p *product) Open(ctx context.Context, store string, deliver func(id string) error) (string, error) {
	config, err := pgxpool.ParseConfig(store)
	if err != nil {
		return "", fmt.Errorf("address of the store: %w", err)
	}
	config.MaxConns = connections
	if p.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return "", fmt.Errorf("connect to the store: %w", err)
	}
	if err := p.migrate(ctx); err != nil {
		return "", err
	}
	options := &river.Config{Logger: slog.New(slog.DiscardHandler)}
	if deliver != nil {
		p.working = true
		options.Workers = river.NewWorkers()
		river.AddWorker(options.Workers, pusher{deliver: deliver})
		options.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}}
		options.FetchCooldown, options.FetchPollInterval = cooldown, poll
		options.JobTimeout, options.RescueStuckJobsAfter = jobTimeout, rescueAfter
	}
	if p.client, err = river.NewClient(riverpgxv5.New(p.pool), options); err != nil {
		return "", fmt.Errorf("client: %w", err)
	}
	if p.working {
		if err := p.client.Start(ctx); err != nil {
			return "", fmt.Errorf("start the client: %w", err)
		}
	}
	return fmt.Sprintf("%s; %d connections, %d workers, fetches and polls every %v, rescue after %v",
		versions(), connections, workers, poll, rescueAfter), nil
}

// migrate creates the tables. A worker that starts again finds them.
func (p *product) migrate(ctx context.Context) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(p.pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return fmt.Errorf("migrator: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("create the tables of River: %w", err)
	}
	if _, err := p.pool.Exec(ctx, schema); err != nil {
		return fmt.Errorf("create the table of sends: %w", err)
	}
	return nil
}

// Submit implements side.Product. The send and its job are in one transaction.
func (p *product) Submit(ctx context.Context, m side.Message) (accepted bool, err error) {
	err = pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "SELECT take($1, $2)", m.User, m.At).Scan(&accepted); err != nil {
			return fmt.Errorf("take a send time: %w", err)
		}
		if !accepted {
			return nil
		}
		job := push{ID: m.ID, User: m.User, Title: side.Title, Body: side.Body}
		if _, err := p.client.InsertTx(ctx, tx, job, &river.InsertOpts{ScheduledAt: m.At}); err != nil {
			return fmt.Errorf("insert a job: %w", err)
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("submit: %w", err)
	}
	return accepted, nil
}

// Pending implements side.Product.
func (p *product) Pending(ctx context.Context) (n int, err error) {
	const query = "SELECT count(*) FROM river_job WHERE finalized_at IS NULL"
	if err := p.pool.QueryRow(ctx, query).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the jobs: %w", err)
	}
	return n, nil
}

// Close implements side.Product.
func (p *product) Close() (err error) {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if p.working {
		err = p.client.Stop(ctx)
	}
	p.pool.Close()
	return errors.Join(err)
}
