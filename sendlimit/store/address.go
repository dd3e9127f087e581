package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// addressField is the field of the meta key with the Address under which the store was last
// delivered. A copy of the store has it too.
const addressField = "address"

// Address is the configured address of a store: a server, or each named node or Sentinel, in order.
// It has no credentials, and nothing that was resolved or discovered: a failover or a restart does
// not change it. No part has a space.
type Address []string

// String returns the parts of an address, separated by spaces.
func (a Address) String() string { return strings.Join(a, " ") }

// SameStore reports whether two addresses lead to one store: they share a part. So some of the
// named nodes may change.
func (a Address) SameStore(b Address) bool {
	return slices.ContainsFunc(a, func(part string) bool { return slices.Contains(b, part) })
}

// ReadAddress returns the address under which a store was last delivered; nil if it never was.
func ReadAddress(ctx context.Context, client redis.Cmdable, keys keyspace.Keys) (Address, error) {
	text, err := client.HGet(ctx, keys.Meta(), addressField).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, Explain(err, "reading the address of the store")
	}
	return strings.Fields(text), nil
}

// TakeAddress sets the address under which a store is delivered, if it has none, if the former one
// leads to the same store, or if moved is set. It returns the former one, and whether the store may
// be delivered under the new one. If programs give a new store different addresses at the same
// time, those with one of the addresses may deliver.
func TakeAddress(
	ctx context.Context, client redis.Cmdable, keys keyspace.Keys, address Address, moved bool,
) (former Address, taken bool, err error) {
	const doing = "marking the store with its address"
	if err := client.HSetNX(ctx, keys.Meta(), addressField, address.String()).Err(); err != nil {
		return nil, false, Explain(err, doing)
	}
	if former, err = ReadAddress(ctx, client, keys); err != nil {
		return nil, false, err
	}
	switch {
	case slices.Equal(former, address):
		return former, true, nil
	case !moved && !former.SameStore(address):
		return former, false, nil
	}
	if err := client.HSet(ctx, keys.Meta(), addressField, address.String()).Err(); err != nil {
		return nil, false, Explain(err, doing)
	}
	return former, true, nil
}
