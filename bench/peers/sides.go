package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// spec is a side: how it is built, and how it runs.
type spec struct {
	name    string // in results and arguments
	title   string // for people
	folder  string // below the harness
	args    []string
	kind    string   // of the store
	sources []string // what a team writes to have this side
	cannot  string   // what the side can't do

	command []string // once it is built
	dir     string   // to run in
}

func sides() []spec {
	const (
		onlyCalls = "its limiter counts calls, not send times: it refuses most of what is scheduled ahead at once, and accepts two messages for the same time that are submitted apart; asked by the worker instead, it would hold messages back and refuse none at submit"
		twoSteps  = "a crash between its script and Enqueue leaves a taken time without a message, until its caller submits it again; after an outage late messages go out at once, against the rules"
	)
	return []spec{
		{
			name: "sendlimit", title: "sendlimit, library", folder: "sendlimit", args: []string{"library"}, kind: redisStore,
			sources: []string{"library.go"}, cannot: "no jobs other than messages; one Redis, or a cluster of them",
		},
		{
			name: "sendlimit-api", title: "sendlimit, HTTP API and webhook", folder: "sendlimit", args: []string{"api"}, kind: redisStore,
			sources: []string{"overhttp.go"}, cannot: "the same, and each message costs two HTTP requests",
		},
		{
			name: "asynq-zset", title: "asynq + a script of one's own", folder: "asynq", args: []string{"zset"}, kind: redisStore,
			sources: []string{"queue.go", "sends.go", "take.lua"}, cannot: twoSteps,
		},
		{
			name: "asynq-redis-rate", title: "asynq + redis_rate", folder: "asynq", args: []string{"redis_rate"}, kind: redisStore,
			sources: []string{"queue.go", "rates.go"}, cannot: onlyCalls,
		},
		{
			name: "bullmq", title: "BullMQ + rate-limiter-flexible", folder: "bullmq", kind: redisStore,
			sources: []string{"product.js"}, cannot: onlyCalls,
		},
		{
			name: "river", title: "River + a table of sends", folder: "river", kind: postgres,
			sources: []string{"product.go", "take.sql"}, cannot: "after an outage late jobs run at once, against the rules; a job of a killed worker waits for the rescue, an hour by default",
		},
	}
}

// missing names the packages of Debian without which some sides can't run, nil for none.
func missing(chosen []spec) []string {
	var names []string
	need := func(name string, found bool) {
		if !found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	onPath := func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}
	for _, s := range chosen {
		if s.kind == postgres {
			need("postgresql", postgresPrograms() != "")
		} else {
			need("redis-server", onPath("redis-server"))
		}
		if s.folder == "bullmq" {
			need("nodejs", onPath("node"))
			need("npm", onPath("npm"))
		}
	}
	return names
}

// build builds a side, below the folder of the harness, into another folder.
func (s *spec) build(ctx context.Context, harness, into string) error {
	s.dir = filepath.Join(harness, s.folder)
	if s.folder == "bullmq" {
		s.command = []string{"node", "main.js"}
		return execute(ctx, s.dir, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	}
	program := filepath.Join(into, "side-"+s.folder)
	if err := execute(ctx, s.dir, "go", "build", "-trimpath", "-o", program, "."); err != nil {
		return err
	}
	s.command = append([]string{program}, s.args...)
	if s.name == "sendlimit-api" {
		worker := filepath.Join(into, "sendlimit-worker")
		if err := execute(ctx, filepath.Join(harness, "../.."), "go", "build", "-trimpath", "-o", worker, "./cmd/sendlimit-worker"); err != nil {
			return err
		}
		s.command = append(s.command, worker)
	}
	return nil
}

func execute(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s in %s: %w: %s", program, args[0], dir, err, bytes.TrimSpace(out))
	}
	return nil
}

// lines counts the lines of a side's sources that are neither empty nor a comment.
func (s *spec) lines(harness string) (int, error) {
	n := 0
	for _, name := range s.sources {
		content, err := os.ReadFile(filepath.Join(harness, s.folder, name))
		if err != nil {
			return 0, fmt.Errorf("count the lines of %s: %w", s.name, err)
		}
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSpace(line)
			if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "--") {
				n++
			}
		}
	}
	return n, nil
}
