package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// inspectTimeout bounds Inspect, repeated attempts included.
const inspectTimeout = 15 * time.Second

// probeKey is a key that nobody has: deleting it shows whether the server
// takes writes, and changes nothing.
const probeKey = "sendlimit:probe"

// Report is what Inspect found out about a store that can be used.
type Report struct {
	// Nodes is every server that was asked, by address: one, or all masters of
	// a cluster.
	Nodes []Node
	// Warnings are sentences about what could not be found out.
	Warnings []string
}

// Node is one server of the store.
type Node struct {
	Address string
	// Version is that of the Redis it is or stands in for; empty where it does
	// not say, as the embedded store.
	Version string
	// Eviction is its maxmemory-policy; empty where it does not say.
	Eviction string
	// Replicas is how many replicas are connected to it; -1 where it does not
	// say.
	Replicas int
}

// Inspect looks whether programs can work with a store: whether it can be
// reached and logged in to, is not loading, takes writes, is what the URL says
// it is, and is new enough. What its rights don't let it see becomes a warning.
//
// An error has a *sendlimit.UnavailableError in its chain, except where ctx
// was canceled or the server is none of Redis.
func Inspect(ctx context.Context, client redis.UniversalClient) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
	defer cancel()

	report := &collector{}
	var err error
	if cluster, ok := client.(*redis.ClusterClient); ok {
		err = report.cluster(ctx, cluster)
	} else {
		err = report.single(ctx, client)
	}
	if err != nil {
		return Report{}, err
	}
	// Only a write shows a read-only server whose role could not be seen. A
	// user whose rights don't reach this key is none the wiser.
	err = client.Del(ctx, probeKey).Err()
	if err != nil && !redis.IsPermissionError(err) {
		return Report{}, explain(err)
	}
	slices.SortFunc(report.Nodes, func(a, b Node) int { return strings.Compare(a.Address, b.Address) })
	slices.Sort(report.Warnings)
	return report.Report, nil
}

// RefuseEviction returns an error when a server of the store throws keys away
// once its memory is full, and with them scheduled messages and limits. It is
// nil where that can't be seen.
func (r Report) RefuseEviction() error {
	for _, n := range r.Nodes {
		if n.Eviction != "" && n.Eviction != "noeviction" {
			return unfit("Redis at %s has the maxmemory-policy %s, which would throw scheduled messages away:"+
				" set it to noeviction", n.Address, n.Eviction)
		}
	}
	return nil
}

// LacksReplicas returns the servers of the store that have fewer replicas than
// wanted.
func (r Report) LacksReplicas(wanted int) []Node {
	var lacking []Node
	for _, n := range r.Nodes {
		if n.Replicas >= 0 && n.Replicas < wanted {
			lacking = append(lacking, n)
		}
	}
	return lacking
}

// unfit says that a store which answers can't be used as it is.
func unfit(format string, args ...any) error {
	return &fault.UnavailableError{Detail: fmt.Sprintf(format, args...)}
}

// collector gathers a report, from several masters at the same time.
type collector struct {
	Report

	mu sync.Mutex
}

func (c *collector) single(ctx context.Context, client redis.UniversalClient) error {
	address := "the master"
	if one, ok := client.(*redis.Client); ok && one.Options().Addr != failoverAddress {
		address = one.Options().Addr
	}
	info, err := c.inspect(ctx, client, address)
	if err != nil {
		return err
	}
	if info["redis_mode"] == "cluster" {
		return unfit("Redis at %s is a node of a cluster: give a URL that begins with %s", address, clusterScheme)
	}
	return nil
}

func (c *collector) cluster(ctx context.Context, client *redis.ClusterClient) error {
	err := client.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		_, err := c.inspect(ctx, master, master.Options().Addr)
		return err
	})
	if err != nil && strings.Contains(err.Error(), "cluster support disabled") {
		return unfit("Redis is not a cluster: give a URL that begins with redis://")
	}
	return explain(err)
}

// inspect looks at one server, and returns what its INFO says.
func (c *collector) inspect(ctx context.Context, client redis.Cmdable, address string) (map[string]string, error) {
	// INFO can be forbidden, PING is not.
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, explain(err)
	}
	text, err := client.Info(ctx).Result()
	if redis.IsPermissionError(err) {
		c.add(Node{Address: address, Replicas: -1}, fmt.Sprintf(
			"Redis at %s does not let this user see INFO: its version (%s or newer), its role (master) and"+
				" its maxmemory-policy (noeviction) are not checked", address, minVersion))
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	info := parseInfo(text)
	node := Node{Address: address, Version: info["redis_version"], Eviction: info["maxmemory_policy"], Replicas: -1}
	if n, err := strconv.Atoi(info["connected_slaves"]); err == nil {
		node.Replicas = n
	}
	switch {
	case info["redis_mode"] == "sentinel":
		return nil, unfit("what answers at %s is a Sentinel: give a URL such as %s%s/MASTER-NAME",
			address, sentinelScheme, address)
	case node.Version != "" && tooOld(node.Version):
		return nil, unfit("Redis at %s has version %s: it has to be %s or newer", address, node.Version, minVersion)
	case info["role"] == "slave":
		return nil, unfit("Redis at %s is a read-only replica: give the address of its master, %s:%s",
			address, info["master_host"], info["master_port"])
	}
	warning := ""
	if node.Version != "" && node.Eviction == "" {
		warning = fmt.Sprintf("Redis at %s does not say its maxmemory-policy: it has to be noeviction", address)
	}
	c.add(node, warning)
	return info, nil
}

func (c *collector) add(node Node, warning string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Nodes = append(c.Nodes, node)
	if warning != "" {
		c.Warnings = append(c.Warnings, warning)
	}
}

// failoverAddress is what the client library has in the place of an address
// where the Sentinels tell it.
const failoverAddress = "FailoverClient"

// explain is sendlimit.Unavailable for a first look, where two more things can
// be said.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, redis.Nil) {
		return unfit("the Sentinels know no master of this name: correct the end of the URL, /MASTER-NAME")
	}
	dial, dialed := errors.AsType[*net.OpError](err)
	if dialed && dial.Addr != nil && dial.Addr.String() == EmbeddedAddress && errors.Is(dial, syscall.ECONNREFUSED) {
		err = &fault.UnavailableError{
			Detail: fmt.Sprintf("no Redis at %s: connection refused; start one with %s", EmbeddedAddress, howToStart),
			Err:    err,
		}
	}
	return fmt.Errorf("looking at the store: %w", store.Explain(err, "asking Redis"))
}

// howToStart completes "start one with" for who has set no URL.
const howToStart = `"go run ./cmd/worker" (embedded, for trying out), or set REDIS_URL,` +
	` such as redis://127.0.0.1:6379 after "docker compose up -d redis"`
