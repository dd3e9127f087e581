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
	return count(script.Each(ctx, x.client, lua.Forget, doing, len(gone), func(i int) ([]string, []any) {
		e := gone[i]
		return []string{x.keys.Record(e.user, e.id), of.key(e.List), of.key(of.head(e.List))}, []any{of.field(), e.Member}
	}))
}

// refile gives entries the score of their messages' campaigns, and returns how many. It skips an entry
// whose slot is moving to another node.
func (x *Index) refile(ctx context.Context, of lists, misfiled []filed) (corrected int, failed error) {
	return count(script.Each(ctx, x.client, lua.Refile, sweeping, len(misfiled), func(i int) ([]string, []any) {
		f := misfiled[i]
		return []string{x.keys.Record(f.user, f.id), of.key(f.List)}, []any{f.campaign, f.charge, f.score(), f.Member}
	}))
}

// count returns how many replies say that something was done.
func count(replies []*script.ReplyReader) (done int, failed error) {
	for _, in := range replies {
		yes, err := script.Yes(in)
		if store.IsMoving(err) {
			continue
		}
		if err != nil {
			return done, err
		}
		if yes {
			done++
		}
	}
	return done, nil
}
