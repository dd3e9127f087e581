package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ProgramEnv is the name of an environment variable with the server to start instead of
// the redis-server in PATH, such as the path of a valkey-server.
const ProgramEnv = "SENDLIMIT_TEST_REDIS_SERVER"

// program returns the server to start.
func program() string { return cmp.Or(os.Getenv(ProgramEnv), "redis-server") }

const (
	startTimeout = 30 * time.Second
	startPoll    = 5 * time.Millisecond
	// portTries is the number of ports to try: another process may take a
	// free port before the server does.
	portTries = 5
)

// Options configures a server. The zero value starts an empty Redis on a free
// port of 127.0.0.1 that writes nothing to disk.
type Options struct {
	// Args are arguments for redis-server, such as "--appendonly", "yes".
	Args []string
	// Password is required of every client, unless it is empty.
	Password string
	// UnixSocket makes the server listen on a socket in its folder instead of
	// a port.
	UnixSocket bool
	// Sentinel makes the server a Sentinel. It has the lines of its file of settings,
	// such as "sentinel monitor NAME HOST PORT QUORUM". Args and Password have no effect.
	Sentinel []string

	ofCluster bool     // a node of a cluster, which has a port for the others, too
	environ   []string // added to that of the test
}

// Server is a redis-server process with its own folder. Its methods are not
// safe for concurrent use; its client is.
type Server struct {
	Addr string // host:port, or the path of the Unix socket

	options Options
	folder  string
	client  *redis.Client
	process *process
	tlsPort int // zero without TLS
	busPort int // of a cluster; zero without
}

// Start starts the redis-server in PATH, or that of ProgramEnv, and waits until it answers. The caller
// closes the server. The error contains the end of the server's log.
func Start(ctx context.Context, options Options) (*Server, error) {
	folder, err := os.MkdirTemp("", "sendlimit-redis-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for redis: %w", err)
	}
	s := &Server{options: options, folder: folder}
	for range portTries {
		if err = errors.Join(s.chooseAddress(ctx), s.writeSettings()); err != nil {
			break
		}
		if err = s.start(ctx); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	s.client = redis.NewClient(s.clientOptions())
	return s, nil
}

// Client returns a client of the server. It stays usable after Restart. Close
// closes it.
func (s *Server) Client() *redis.Client { return s.client }

// URL returns the server's address and password in the form that
// redis.ParseURL reads.
func (s *Server) URL() string {
	u := url.URL{Scheme: "redis", Host: s.Addr}
	if s.options.UnixSocket {
		u = url.URL{Scheme: "unix", Path: s.Addr}
	}
	if s.options.Password != "" {
		u.User = url.UserPassword("", s.options.Password)
	}
	return u.String()
}

// Folder returns where the server keeps its files.
func (s *Server) Folder() string { return s.folder }

// PID returns the id of the server's process.
func (s *Server) PID() int { return s.process.running.Pid }

// Kill ends the server by SIGKILL, like a crash. Its folder stays. Killing it
// twice is harmless.
func (s *Server) Kill() { s.process.kill() }

// Restart kills the server if it runs, starts it again at the same address on
// the same folder, and waits until it has loaded the data there.
func (s *Server) Restart(ctx context.Context) error {
	s.Kill()
	return s.start(ctx)
}

// Close kills the server, closes its client and removes its folder. Closing
// twice is harmless.
func (s *Server) Close() error {
	s.Kill()
	if err := s.client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("close the client of redis: %w", err)
	}
	if err := os.RemoveAll(s.folder); err != nil {
		return fmt.Errorf("remove the folder of redis: %w", err)
	}
	return nil
}

// chooseAddress sets the address to listen at, and the port for other nodes.
func (s *Server) chooseAddress(ctx context.Context) error {
	if s.options.UnixSocket {
		s.Addr = filepath.Join(s.folder, "redis.sock")
		return nil
	}
	port, err := freePort(ctx)
	s.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if err == nil && s.options.ofCluster {
		// By default it is 10,000 above the other, which may be above 65,535.
		s.busPort, err = freePort(ctx)
	}
	return err
}

// settingsFile is the file of a Sentinel, which rewrites it.
func (s *Server) settingsFile() string { return filepath.Join(s.folder, "sentinel.conf") }

func (s *Server) writeSettings() error {
	if s.options.Sentinel == nil {
		return nil
	}
	_, port, _ := strings.Cut(s.Addr, ":")
	lines := append([]string{"bind 127.0.0.1", "port " + port, "dir " + s.folder}, s.options.Sentinel...)
	if err := os.WriteFile(s.settingsFile(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the settings of a sentinel: %w", err)
	}
	return nil
}

func (s *Server) arguments() []string {
	if s.options.Sentinel != nil {
		return []string{s.settingsFile(), "--sentinel"}
	}
	args := []string{"--dir", s.folder, "--save", ""}
	if s.options.UnixSocket {
		args = append(args, "--port", "0", "--unixsocket", s.Addr, "--unixsocketperm", "700")
	} else {
		_, port, _ := strings.Cut(s.Addr, ":")
		args = append(args, "--bind", "127.0.0.1", "--port", port)
	}
	if s.options.ofCluster {
		args = append(args, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(s.busPort))
	}
	if s.options.Password != "" {
		args = append(args, "--requirepass", s.options.Password)
	}
	return append(args, s.options.Args...)
}

func (s *Server) clientOptions() *redis.Options {
	network := "tcp"
	if s.options.UnixSocket {
		network = "unix"
	}
	return &redis.Options{Network: network, Addr: s.Addr, Password: s.options.Password}
}

// start starts the process and waits until it answers. After an error the
// process does not run.
func (s *Server) start(ctx context.Context) error {
	process, err := startProcess(ctx, s.logFile(), s.options.environ, program(), s.arguments()...)
	if err != nil {
		return err
	}
	s.process = process
	if err := s.awaitReady(ctx); err != nil {
		s.Kill()
		return err
	}
	return nil
}

func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := redis.NewClient(s.clientOptions())
	defer client.Close()

	poll := time.NewTicker(startPoll)
	defer poll.Stop()
	for !s.answers(ctx, client) {
		select {
		case <-s.process.ended:
			return s.failure()
		case <-ctx.Done():
			return fmt.Errorf("wait for redis to answer: %w\n%s", ctx.Err(), s.logTail())
		case <-poll.C:
		}
	}
	return nil
}

// answers reports whether the server has loaded its data. It compares the id
// of the process, because another server may have taken the port.
func (s *Server) answers(ctx context.Context, client *redis.Client) bool {
	// The client would log every failed attempt.
	options := client.Options()
	conn, err := new(net.Dialer).DialContext(ctx, options.Network, options.Addr)
	if err != nil {
		return false
	}
	if conn.Close() != nil || client.Ping(ctx).Err() != nil {
		return false
	}
	info, err := client.Info(ctx, "server").Result()
	return err == nil && strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", s.PID()))
}

// errPortTaken is returned when another process listens at the server's
// address.
var errPortTaken = errors.New("the port is taken")

// failure returns why the process ended.
func (s *Server) failure() error {
	log := s.logTail()
	if strings.Contains(log, "Address already in use") {
		return fmt.Errorf("redis ended at its start: %w\n%s", errPortTaken, log)
	}
	return fmt.Errorf("redis ended at its start:\n%s", log)
}

func (s *Server) logFile() string { return filepath.Join(s.folder, "redis.log") }

// logTail returns the end of the server's log, for an error.
func (s *Server) logTail() string {
	const most = 2000
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return "(no log)"
	}
	return strings.TrimSpace(string(log[max(0, len(log)-most):]))
}

// freePort returns a port of 127.0.0.1 that is free at the moment.
func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	address, err := net.ResolveTCPAddr("tcp4", listener.Addr().String())
	if err := errors.Join(err, listener.Close()); err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return address.Port, nil
}
