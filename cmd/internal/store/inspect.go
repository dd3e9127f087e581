package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// inspectTimeout bounds Inspect, including repeated attempts.
const inspectTimeout = 15 * time.Second

// probeKey never exists: deleting it shows whether the server takes writes, and changes
// nothing.
const probeKey = "sendlimit:probe"

// Report is what Inspect found out about a usable store.
type Report struct {
	// Nodes are the servers, by address: one, or all masters of a cluster.
	Nodes []Node
	// Warnings are sentences about what could not be checked.
	Warnings []string
}

// Node is one server of the store.
type Node struct {
	Address string
	// Version is its Redis version, or the one it emulates; empty if unknown, as for the embedded
	// store.
	Version string
	// Eviction is its maxmemory-policy; empty if unknown.
	Eviction string
	// Replicas is how many replicas are connected to it; -1 if unknown.
	Replicas int
	// KeepsNothing is set if a restart of the server loses everything: it writes neither an
	// append-only file nor snapshots. It is not set if that is unknown.
	KeepsNothing bool
	// OnlySnapshots is set if a crash of the server loses the latest changes: it writes no append-only
	// file.
	OnlySnapshots bool
	// Cluster is set for a node of a cluster.
	Cluster bool

	lagging []string // lagging replicas, see Lagging
}

// Inspect checks whether programs can work with a store: it is reachable, accepts the login, has
// loaded its data, accepts writes, is of the kind that the URL names, and is new enough. A check
// that the user has no right to becomes a warning. So does a master of a cluster that does not
// answer while others do.
//
// The error wraps a *fault.UnavailableError, unless ctx was canceled or the server is not Redis.
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
		return Report{}, protocolError(ctx, client, err)
	}
	// Only a write reveals a read-only server whose role is not visible. Without the right to write
	// this key, it stays hidden.
	err = client.Del(ctx, probeKey).Err()
	if err != nil && !redis.IsPermissionError(err) && (report.away == 0 || !silent(err)) {
		return Report{}, explain(err, "")
	}
	slices.SortFunc(report.Nodes, func(a, b Node) int { return strings.Compare(a.Address, b.Address) })
	slices.Sort(report.Warnings)
	return report.Report, nil
}

// RefuseEviction returns an error if a server of the store evicts keys when its memory is
// full: scheduled messages and limits would be lost. It returns nil if that is unknown.
func (r Report) RefuseEviction() error {
	var servers []store.Memory
	for _, n := range r.Nodes {
		servers = append(servers, store.Memory{Address: n.Address, Policy: n.Eviction})
	}
	return store.RefuseEviction(servers...)
}

// LosesAll returns a sentence about each server of the store that keeps nothing.
func (r Report) LosesAll() []string {
	return r.about(func(n Node) bool { return n.KeepsNothing }, "keeps nothing: a restart loses every scheduled message,"+
		" since appendonly is no and save is empty: set appendonly to yes")
}

// LosesLatest returns a sentence about each server of the store that keeps only snapshots.
func (r Report) LosesLatest() []string {
	return r.about(func(n Node) bool { return n.OnlySnapshots }, "keeps only snapshots: a crash loses every message that was accepted"+
		" since the last one, since appendonly is no: set appendonly to yes")
}

// about returns a sentence about each server of a kind.
func (r Report) about(are func(Node) bool, what string) []string {
	var sentences []string
	for _, n := range r.Nodes {
		if are(n) {
			sentences = append(sentences, fmt.Sprintf("Redis at %s %s", n.Address, what))
		}
	}
	return sentences
}

// LacksReplicas returns the servers of the store with fewer replicas than wanted.
func (r Report) LacksReplicas(wanted int) []Node {
	var lacking []Node
	for _, n := range r.Nodes {
		if n.Replicas >= 0 && n.Replicas < wanted {
			lacking = append(lacking, n)
		}
	}
	return lacking
}

// unfit returns the error for a store that answers but can't be used.
func unfit(format string, args ...any) error {
	return &fault.UnavailableError{Internal: true, Detail: fmt.Sprintf(format, args...)}
}

// collector gathers a report from several masters at a time.
type collector struct {
	Report

	mu   sync.Mutex
	away int // masters of a cluster that do not answer
}

func (c *collector) single(ctx context.Context, client redis.UniversalClient) error {
	address := theMaster
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
	var lost error
	err := client.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		address := master.Options().Addr
		_, err := c.inspect(ctx, master, address)
		if err == nil || !silent(err) || ctx.Err() != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.away, lost = c.away+1, err
		c.Warnings = append(c.Warnings, fmt.Sprintf("Redis at %s, a node of the cluster, does not answer:"+
			" nothing is accepted or sent for its users", address))
		return nil
	})
	if err == nil && len(c.Nodes) == 0 {
		err = lost
	}
	if err != nil && strings.Contains(err.Error(), "cluster support disabled") {
		return unfit("Redis is not a cluster: give a URL that begins with redis://")
	}
	address := ""
	if seeds := client.Options().Addrs; len(seeds) == 1 {
		address = seeds[0]
	}
	return explain(err, address)
}

// inspect looks at one server, and returns what its INFO says.
func (c *collector) inspect(ctx context.Context, client redis.Cmdable, address string) (map[string]string, error) {
	// A user may lack the right for INFO.
	err := client.Ping(ctx).Err()
	if unknownCommand(err) {
		return nil, unfit("the server at %s does not know the command PING: give the address of Redis, and not of a proxy"+
			" that passes on only some commands", address)
	}
	if err != nil {
		return nil, explain(err, address)
	}
	text, err := client.Info(ctx).Result()
	if redis.IsPermissionError(err) || unknownCommand(err) {
		c.add(Node{Address: address, Replicas: -1}, fmt.Sprintf(
			"Redis at %s does not allow INFO: its version (%s or newer), its role (master) and"+
				" its maxmemory-policy (noeviction) are not checked", address, minVersion))
		return nil, nil
	}
	if err != nil {
		return nil, explain(err, address)
	}
	info := parseInfo(text)
	node := Node{Address: address, Version: info["redis_version"], Eviction: info["maxmemory_policy"], Replicas: -1}
	if n, err := strconv.Atoi(info["connected_slaves"]); err == nil {
		node.Replicas = n
	}
	switch {
	case info["redis_mode"] == "sentinel":
		return nil, unfit("the server at %s is a Sentinel: give a URL such as %s%s/MASTER-NAME",
			address, sentinelScheme, address)
	case node.Version != "" && tooOld(node.Version):
		return nil, unfit("Redis at %s has version %s: %s or newer is required", address, node.Version, minVersion)
	case info["role"] == "slave":
		return nil, unfit("Redis at %s is a read-only replica: give the address of its master, %s:%s",
			address, info["master_host"], info["master_port"])
	}
	node.Cluster, node.lagging = info["redis_mode"] == "cluster", laggingReplicas(info)
	if info["aof_enabled"] == "0" {
		node.KeepsNothing = savesNever(ctx, client)
		node.OnlySnapshots = !node.KeepsNothing
	}
	warning := ""
	if node.Version != "" && node.Eviction == "" {
		warning = fmt.Sprintf("Redis at %s does not tell its maxmemory-policy, which must be noeviction", address)
	}
	c.add(node, warning)
	return info, nil
}

// savesNever reports whether a server makes no snapshots. Many managed servers hide that.
func savesNever(ctx context.Context, client redis.Cmdable) bool {
	settings, err := client.ConfigGet(ctx, "save").Result()
	save, known := settings["save"]
	return err == nil && known && save == ""
}

func (c *collector) add(node Node, warning string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Nodes = append(c.Nodes, node)
	if warning != "" {
		c.Warnings = append(c.Warnings, warning)
	}
}

// silent reports whether an error is a failed connection, and not a reply.
func silent(err error) bool {
	_, reply := errors.AsType[redis.Error](err)
	away, unavailable := errors.AsType[*fault.UnavailableError](store.Explain(err, "asking Redis"))
	return !reply && unavailable && away.Err != nil
}

// theMaster replaces the address of a master that Sentinels name.
const theMaster = "the master"

// failoverAddress is the client library's placeholder for an address from Sentinels.
const failoverAddress = "FailoverClient"
