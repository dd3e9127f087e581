package store

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Memory is how full one server of a store is.
type Memory struct {
	// Address is host:port as the client knows it; "" if the client gets it from Sentinels.
	Address string
	// Used counts towards Max, bytes: the server's data, without the buffers of its replicas and
	// its append-only file.
	Used int64
	Max  int64 // maxmemory, bytes; zero means none is set
	// Policy is its maxmemory-policy, "" if it does not tell. See RefuseEviction.
	Policy string
	// Evicted counts the keys that it has evicted since its start.
	Evicted int64
}

// FullAt reports whether at least percent of the memory is used; false if there is no limit.
func (m Memory) FullAt(percent int) bool { return m.Max > 0 && m.Used*100 >= m.Max*int64(percent) }

// failoverAddress is what the client library returns instead of an address that Sentinels know.
const failoverAddress = "FailoverClient"

// ReadMemory returns how full the server, or every master of a cluster, is. It leaves out servers
// that do not tell, such as the embedded store. With an error, an *UnavailableError if a server did
// not answer, it returns the results of the others.
func ReadMemory(ctx context.Context, client redis.UniversalClient) ([]Memory, error) {
	const doing = "asking how full the store is"
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		address := ""
		if one, ok := client.(*redis.Client); ok && one.Options().Addr != failoverAddress {
			address = one.Options().Addr
		}
		m, ok, err := readMemory(ctx, client, address)
		if err != nil || !ok {
			return nil, Explain(err, doing)
		}
		return []Memory{m}, nil
	}
	var (
		mu  sync.Mutex
		all []Memory
	)
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		m, ok, err := readMemory(ctx, master, master.Options().Addr)
		if ok {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, m)
		}
		return err
	})
	return all, Explain(err, doing)
}

// readMemory reads INFO of one server; ok is false if the server does not tell.
func readMemory(ctx context.Context, client redis.Cmdable, address string) (m Memory, ok bool, err error) {
	told, err := readInfo(ctx, client, "memory", "stats")
	if err != nil {
		return Memory{}, false, err
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(told[name], 10, 64) // 0 if it is not told
		return n
	}
	used, apart := number("used_memory"), number("mem_not_counted_for_evict")
	return Memory{
		Address: address, Used: used - apart, Max: number("maxmemory"),
		Policy: told["maxmemory_policy"], Evicted: number("evicted_keys"),
	}, used > 0, nil
}

// readInfo returns sections of INFO of one server; nil if INFO is forbidden, or has no such sections.
func readInfo(ctx context.Context, client redis.Cmdable, sections ...string) (map[string]string, error) {
	text, err := client.Info(ctx, sections...).Result()
	if isRefusal(err) {
		return nil, nil
	}
	told := make(map[string]string)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		told[name] = value
	}
	return told, err
}
