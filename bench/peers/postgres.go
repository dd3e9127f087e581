package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// postgresServer is a server with a folder of its own.
type postgresServer struct {
	bin, folder, port string
	user              *syscall.Credential // Postgres refuses to run as root
	durable           bool
	cmd               *exec.Cmd
}

// postgresPrograms returns the folder with the newest programs of Postgres, "" if there is none.
func postgresPrograms() string {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(found))
}

func startPostgres(ctx context.Context, durable bool) (_ store, err error) {
	p := &postgresServer{bin: postgresPrograms(), durable: durable}
	if p.bin == "" {
		return nil, errors.New("no initdb in /usr/lib/postgresql: install postgresql")
	}
	if p.folder, err = os.MkdirTemp("", "peers-postgres-"); err != nil {
		return nil, fmt.Errorf("make a folder for Postgres: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(p.folder))
		}
	}()
	if os.Geteuid() == 0 {
		if p.user, err = credential(ctx, "postgres"); err != nil {
			return nil, err
		}
		if err := os.Chown(p.folder, int(p.user.Uid), int(p.user.Gid)); err != nil {
			return nil, fmt.Errorf("make a folder for Postgres: %w", err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	_, p.port, _ = net.SplitHostPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	initdb := p.command(ctx, "initdb", "-D", p.data(), "-U", "postgres", "-A", "trust", "-N", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return p, p.start(ctx)
}

func credential(ctx context.Context, name string) (*syscall.Credential, error) {
	out, err := exec.CommandContext(ctx, "id", "-u", name).Output()
	if err != nil {
		return nil, fmt.Errorf("there is no user %s, as whom Postgres runs: %w", name, err)
	}
	group, err := exec.CommandContext(ctx, "id", "-g", name).Output()
	if err != nil {
		return nil, fmt.Errorf("there is no group %s: %w", name, err)
	}
	uid, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", name, err)
	}
	gid, err := strconv.ParseUint(strings.TrimSpace(string(group)), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", name, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (p *postgresServer) data() string { return filepath.Join(p.folder, "data") }

func (p *postgresServer) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, program), args...)
	cmd.Dir = p.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.user, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// arguments are for a machine with two processors and an SSD.
func (p *postgresServer) arguments() []string {
	commit := "off"
	if p.durable {
		commit = "on"
	}
	return []string{
		"-D", p.data(), "-p", p.port, "-h", "127.0.0.1", "-k", p.folder,
		"-c", "synchronous_commit=" + commit, "-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB",
		"-c", "random_page_cost=1.1", "-c", "max_connections=100", "-c", "log_min_messages=fatal",
	}
}

func (p *postgresServer) settings(durable bool) string {
	commit := "synchronous_commit off"
	if durable {
		commit = "synchronous_commit on"
	}
	return commit + ", shared_buffers 512 MB"
}

func (p *postgresServer) start(ctx context.Context) error {
	const (
		patience = 30 * time.Second
		poll     = 50 * time.Millisecond
	)
	p.cmd = p.command(context.WithoutCancel(ctx), "postgres", p.arguments()...)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start Postgres: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if _, err := p.query(ctx, "SELECT 1"); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("the started Postgres does not answer"), p.end())
		case <-time.After(poll):
		}
	}
}

func (p *postgresServer) query(ctx context.Context, text string) (string, error) {
	out, err := p.command(ctx, "psql", "-h", "127.0.0.1", "-p", p.port, "-U", "postgres", "-Atc", text).Output()
	if err != nil {
		return "", fmt.Errorf("psql: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (p *postgresServer) url() string {
	return "postgres://postgres@127.0.0.1:" + p.port + "/postgres?sslmode=disable"
}

func (p *postgresServer) pid() int { return p.cmd.Process.Pid }

func (p *postgresServer) version(ctx context.Context) (string, error) {
	v, err := p.query(ctx, "SHOW server_version")
	return "Postgres " + v, err
}

func (p *postgresServer) bytes(ctx context.Context) (int, error) {
	text, err := p.query(ctx, "SELECT pg_database_size('postgres')")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("size of the database: %w", err)
	}
	return n, nil
}

// end kills the server with its processes.
func (p *postgresServer) end() error {
	err := killTree(p.cmd.Process.Pid)
	_ = p.cmd.Wait() // it was killed
	return err
}

func (p *postgresServer) restart(ctx context.Context) error {
	if err := p.end(); err != nil {
		return err
	}
	return p.start(ctx)
}

func (p *postgresServer) close() error {
	return errors.Join(p.end(), os.RemoveAll(p.folder))
}
