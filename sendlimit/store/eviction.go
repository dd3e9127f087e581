package store

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// keepsAll is the only maxmemory-policy that deletes nothing.
const keepsAll = "noeviction"

// RefuseEviction returns a *fault.UnavailableError that is Unfit if the maxmemory-policy of one of the
// servers evicts keys, and so would delete accepted messages. It returns nil if no policy is known to.
// An address "" is not named.
func RefuseEviction(servers ...Memory) error {
	for _, m := range servers {
		if m.Policy == "" || m.Policy == keepsAll {
			continue
		}
		server := "Redis"
		if m.Address != "" {
			server += " at " + m.Address
		}
		return &fault.UnavailableError{Unfit: true, Internal: true, Detail: fmt.Sprintf(
			"%s has the maxmemory-policy %s, which deletes scheduled messages when memory is full: set it to %s", server, m.Policy, keepsAll)}
	}
	return nil
}

// evictedField begins the fields of the meta key with the number of evicted keys that a server told
// last; its address follows.
const evictedField = "evicted:"

// NewEvictions returns the servers that have evicted keys since NoteEvictions, by any program. A
// server counts from 0 again after a restart.
func NewEvictions(ctx context.Context, client redis.Cmdable, keys keyspace.Keys, servers []Memory) ([]Memory, error) {
	if len(servers) == 0 {
		return nil, nil
	}
	var fields []string
	for _, m := range servers {
		fields = append(fields, evictedField+m.Address)
	}
	noted, err := client.HMGet(ctx, keys.Meta(), fields...).Result()
	if err != nil {
		return nil, Explain(err, "reading how many keys the store has evicted")
	}
	var grown []Memory
	for i, m := range servers {
		if m.Evicted > 0 && noted[i] != any(strconv.FormatInt(m.Evicted, 10)) {
			grown = append(grown, m)
		}
	}
	return grown, nil
}

// NoteEvictions notes how many keys servers have evicted.
func NoteEvictions(ctx context.Context, client redis.Cmdable, keys keyspace.Keys, servers []Memory) error {
	noted := make(map[string]any, len(servers))
	for _, m := range servers {
		noted[evictedField+m.Address] = m.Evicted
	}
	return Explain(client.HSet(ctx, keys.Meta(), noted).Err(), "noting how many keys the store has evicted")
}
