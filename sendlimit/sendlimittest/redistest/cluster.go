package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	clusterMasters = 3
	clusterSlots   = 16_384
)

// Cluster is a Redis Cluster of three masters, or another number, without replicas.
type Cluster struct {
	Nodes []*Server

	client *redis.ClusterClient
}

// StartCluster starts three servers, gives each a third of the slots, and
// waits until all of them report the cluster as complete. Args are arguments
// for each redis-server. The caller closes the cluster.
func StartCluster(ctx context.Context, args ...string) (*Cluster, error) {
	return StartClusterOf(ctx, clusterMasters, args...)
}

// StartClusterOf is StartCluster with another number of servers.
func StartClusterOf(ctx context.Context, masters int, args ...string) (*Cluster, error) {
	c := &Cluster{}
	if err := c.start(ctx, masters, args); err != nil {
		return nil, errors.Join(fmt.Errorf("start a redis cluster: %w", err), c.Close())
	}
	return c, nil
}

// Client returns a client of the cluster. Close closes it.
func (c *Cluster) Client() *redis.ClusterClient { return c.client }

// Addrs returns the addresses of the nodes, host:port.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		addrs[i] = node.Addr
	}
	return addrs
}

// Close ends all nodes. Closing twice is harmless.
func (c *Cluster) Close() error {
	var errs []error
	if c.client != nil {
		if err := c.client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			errs = append(errs, fmt.Errorf("close the client of the cluster: %w", err))
		}
	}
	for _, node := range c.Nodes {
		errs = append(errs, node.Close())
	}
	return errors.Join(errs...)
}

func (c *Cluster) start(ctx context.Context, masters int, args []string) error {
	for range masters {
		node, err := Start(ctx, Options{Args: args, ofCluster: true})
		if err != nil {
			return err
		}
		c.Nodes = append(c.Nodes, node)
	}
	if err := c.join(ctx); err != nil {
		return err
	}
	if err := c.awaitComplete(ctx); err != nil {
		return err
	}
	c.client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	return nil
}

// join gives each node its slots and makes the nodes known to each other.
func (c *Cluster) join(ctx context.Context) error {
	for i, node := range c.Nodes {
		first, next := i*clusterSlots/len(c.Nodes), (i+1)*clusterSlots/len(c.Nodes)
		if err := node.Client().ClusterAddSlotsRange(ctx, first, next-1).Err(); err != nil {
			return fmt.Errorf("assign slots %d to %d: %w", first, next-1, err)
		}
		// Nodes with the same epoch would first have to agree on new ones.
		if err := node.Client().Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return fmt.Errorf("set the epoch of %s: %w", node.Addr, err)
		}
	}
	for _, node := range c.Nodes[1:] {
		host, port, err := net.SplitHostPort(node.Addr)
		if err != nil {
			return fmt.Errorf("address of a node: %w", err)
		}
		if err := c.Nodes[0].Client().Do(ctx, "cluster", "meet", host, port, node.busPort).Err(); err != nil {
			return fmt.Errorf("introduce %s: %w", node.Addr, err)
		}
	}
	return nil
}

// awaitComplete waits until every node knows the owner of every slot.
func (c *Cluster) awaitComplete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	poll := time.NewTicker(startPoll)
	defer poll.Stop()
	for _, node := range c.Nodes {
		for {
			info, err := node.Client().ClusterInfo(ctx).Result()
			if err != nil {
				return fmt.Errorf("ask %s for the cluster's state: %w", node.Addr, err)
			}
			if strings.Contains(info, "cluster_state:ok\r\n") &&
				strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d\r\n", clusterSlots)) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for the cluster to be whole: %w\n%s", ctx.Err(), info)
			case <-poll.C:
			}
		}
	}
	return nil
}
