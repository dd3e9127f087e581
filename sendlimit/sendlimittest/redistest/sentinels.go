package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// MasterName is the name of the master for the Sentinels.
const MasterName = "mymaster"

const (
	sentinels = 3
	quorum    = 2
	// downAfter is how long a master does not answer before the Sentinels replace it.
	downAfter = time.Second
)

// Sentinels are a master with replicas, and three Sentinels that replace it.
type Sentinels struct {
	Master   *Server // at the start
	Replicas []*Server
	Nodes    []*Server // the Sentinels
}

// RealSentinels starts a master with replicas and the Sentinels, as Real starts a server.
// Args are arguments for the master and each replica.
func RealSentinels(tb testing.TB, replicas int, args ...string) *Sentinels {
	tb.Helper()
	NeedServer(tb)
	s, err := StartSentinels(tb.Context(), replicas, args...)
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, s)
	return s
}

// StartSentinels starts a master with replicas and the Sentinels, and waits until all know
// each other. The caller closes them.
func StartSentinels(ctx context.Context, replicas int, args ...string) (*Sentinels, error) {
	s := &Sentinels{}
	if err := s.start(ctx, replicas, args); err != nil {
		return nil, errors.Join(fmt.Errorf("start redis with sentinels: %w", err), s.Close())
	}
	return s, nil
}

// Addrs returns the addresses of the Sentinels, host:port.
func (s *Sentinels) Addrs() []string {
	addrs := make([]string, len(s.Nodes))
	for i, node := range s.Nodes {
		addrs[i] = node.Addr
	}
	return addrs
}

// Current returns the master that a Sentinel names.
func (s *Sentinels) Current(ctx context.Context) (string, error) {
	return named(ctx, s.Nodes[0])
}

// Agree reports whether all Sentinels name the same master.
func (s *Sentinels) Agree(ctx context.Context) (bool, error) {
	masters := make(map[string]bool)
	for _, node := range s.Nodes {
		master, err := named(ctx, node)
		if err != nil {
			return false, err
		}
		masters[master] = true
	}
	return len(masters) == 1, nil
}

// ReplaceAfter sets how long a master does not answer before the Sentinels replace it: one second
// at the start. A master may stand still for longer on a busy machine.
func (s *Sentinels) ReplaceAfter(ctx context.Context, silent time.Duration) error {
	var errs []error
	for _, node := range s.Nodes {
		client := redis.NewSentinelClient(node.clientOptions())
		errs = append(errs, client.Set(ctx, MasterName, "down-after-milliseconds", strconv.FormatInt(silent.Milliseconds(), 10)).Err(), client.Close())
	}
	return errors.Join(errs...)
}

func named(ctx context.Context, sentinel *Server) (string, error) {
	client := redis.NewSentinelClient(sentinel.clientOptions())
	defer client.Close()
	address, err := client.GetMasterAddrByName(ctx, MasterName).Result()
	if err != nil {
		return "", fmt.Errorf("ask a sentinel for the master: %w", err)
	}
	return net.JoinHostPort(address[0], address[1]), nil
}

// Close ends all servers. Closing twice is harmless.
func (s *Sentinels) Close() error {
	var errs []error
	for _, server := range append(append(s.Nodes, s.Replicas...), s.Master) {
		if server != nil {
			errs = append(errs, server.Close())
		}
	}
	return errors.Join(errs...)
}

func (s *Sentinels) start(ctx context.Context, replicas int, args []string) error {
	var err error
	if s.Master, err = Start(ctx, Options{Args: append([]string{"--repl-diskless-sync-delay", "0"}, args...)}); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.Master.Addr)
	if err != nil {
		return fmt.Errorf("address of the master: %w", err)
	}
	for range replicas {
		replica, err := Start(ctx, Options{Args: append([]string{
			"--repl-diskless-sync-delay", "0", "--replicaof", host + " " + port,
		}, args...)})
		if err != nil {
			return err
		}
		s.Replicas = append(s.Replicas, replica)
	}
	for range sentinels {
		node, err := Start(ctx, Options{Sentinel: []string{
			fmt.Sprintf("sentinel monitor %s %s %s %d", MasterName, host, port, quorum),
			fmt.Sprintf("sentinel down-after-milliseconds %s %d", MasterName, downAfter.Milliseconds()),
			fmt.Sprintf("sentinel failover-timeout %s 10000", MasterName),
		}})
		if err != nil {
			return err
		}
		s.Nodes = append(s.Nodes, node)
	}
	return s.awaitComplete(ctx, replicas)
}

// awaitComplete waits until every Sentinel knows the others and the replicas, and the
// replicas follow.
func (s *Sentinels) awaitComplete(ctx context.Context, replicas int) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(startPoll)
	defer poll.Stop()
	for {
		complete, err := s.complete(ctx, replicas)
		if complete || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the sentinels to know each other: %w", ctx.Err())
		case <-poll.C:
		}
	}
}

func (s *Sentinels) complete(ctx context.Context, replicas int) (bool, error) {
	info, err := s.Master.Client().Info(ctx, "replication").Result()
	if err != nil || strings.Count(info, "state=online") < replicas {
		return false, err
	}
	for _, node := range s.Nodes {
		client := redis.NewSentinelClient(node.clientOptions())
		known, err := client.Master(ctx, MasterName).Result()
		if err := errors.Join(err, client.Close()); err != nil {
			return false, fmt.Errorf("ask a sentinel: %w", err)
		}
		if known["num-other-sentinels"] != strconv.Itoa(sentinels-1) || known["num-slaves"] != strconv.Itoa(replicas) {
			return false, nil
		}
	}
	return true, nil
}
