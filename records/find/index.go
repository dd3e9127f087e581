package find

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Index finds the messages of a Timeline by their records. It is safe for concurrent use, by any
// number of processes.
type Index struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	off    bool // there are no ids
}

// NewIndex returns the index of a store. withoutIDs is Options.WithoutIndex of its timelines.
func NewIndex(client redis.UniversalClient, keys keyspace.Keys, withoutIDs bool) *Index {
	return &Index{client: client, keys: keys, off: withoutIDs}
}

// forget removes stale entries, and returns how many. It skips an entry whose slot is moving to
// another node.
func (x *Index) forget(ctx context.Context, of lists, gone []entry) (removed int, failed error) {
	const doing = "removing entries of lost messages from the index"
	replies := script.Each(ctx, x.client, lua.Forget, doing, len(gone), func(i int) ([]string, []any) {
		e := gone[i]
		return []string{x.keys.Record(e.user, e.id), of.key(e.List), of.key(of.head(e.List))}, []any{of.field(), e.Member}
	})
	for _, in := range replies {
		yes, err := script.Yes(in)
		if store.IsMoving(err) {
			continue
		}
		if err != nil {
			return removed, err
		}
		if yes {
			removed++
		}
	}
	return removed, nil
}
