package find

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
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

// NewIndex returns the index of a Timeline with the same Options. The error is an *InvalidError.
func NewIndex(client redis.UniversalClient, o sendlimit.Options) (*Index, error) {
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	return &Index{client: client, keys: keys, off: o.WithoutIndex}, nil
}

// forget removes stale entries, and returns how many. It skips an entry whose slot is moving to
// another node.
func (x *Index) forget(ctx context.Context, of lists, gone []entry) (removed int, failed error) {
	const doing = "removing entries of lost messages from the index"
	if len(gone) == 0 {
		return 0, nil
	}
	call := func(e entry) (keys []string, args []any) {
		return []string{x.keys.Record(e.user, e.id), of.key(e.List), of.key(of.head(e.List))}, []any{of.field(), e.Member}
	}
	answers := make([]*redis.Cmd, len(gone))
	_, _ = x.client.Pipelined(ctx, func(pipe redis.Pipeliner) error { // each reply has its error
		for i, e := range gone {
			keys, args := call(e)
			answers[i] = pipe.EvalSha(ctx, lua.Forget.Hash(), keys, args...)
		}
		return nil
	})
	for i, e := range gone {
		answer, err := answers[i].Slice()
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			keys, args := call(e)
			answer, err = lua.Forget.Run(ctx, x.client, keys, args...).Slice()
		}
		if store.IsMoving(err) {
			continue
		}
		if err != nil {
			return removed, store.Explain(err, doing)
		}
		yes, err := script.Yes(script.Read(answer, doing))
		if err != nil {
			return removed, err
		}
		if yes {
			removed++
		}
	}
	return removed, nil
}
