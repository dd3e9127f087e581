package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// MoveSlot moves a slot and its keys to another node as redis-cli does. It moves a few keys
// at a time and waits between. All nodes know the new owner when it returns.
func (c *Cluster) MoveSlot(ctx context.Context, slot, to, keysAtOnce int, wait func()) error {
	from, err := c.owner(ctx, slot)
	if err != nil || from == to {
		return err
	}
	ids := make([]string, len(c.Nodes))
	for i, node := range c.Nodes {
		if ids[i], err = node.Client().ClusterMyID(ctx).Result(); err != nil {
			return fmt.Errorf("ask %s for its id: %w", node.Addr, err)
		}
	}
	setSlot := func(node int, how string, of int) error {
		if err := c.Nodes[node].Client().Do(ctx, "cluster", "setslot", slot, how, ids[of]).Err(); err != nil {
			return fmt.Errorf("%s: slot %d %s %s: %w", c.Nodes[node].Addr, slot, how, c.Nodes[of].Addr, err)
		}
		return nil
	}
	if err := errors.Join(setSlot(to, "importing", from), setSlot(from, "migrating", to)); err != nil {
		return err
	}
	if err := c.moveKeys(ctx, slot, from, to, keysAtOnce, wait); err != nil {
		return err
	}
	// The new owner first: until the former one knows, it sends clients there.
	for _, node := range []int{to, from, len(c.Nodes) - to - from} {
		if err := setSlot(node, "node", to); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) moveKeys(ctx context.Context, slot, from, to, atOnce int, wait func()) error {
	host, port, err := net.SplitHostPort(c.Nodes[to].Addr)
	if err != nil {
		return fmt.Errorf("address of a node: %w", err)
	}
	source := c.Nodes[from].Client()
	for {
		wait()
		keys, err := source.ClusterGetKeysInSlot(ctx, slot, atOnce).Result()
		if err != nil {
			return fmt.Errorf("list keys of slot %d: %w", slot, err)
		}
		if len(keys) == 0 {
			return nil
		}
		// Without REPLACE: the other node has none of the keys.
		args := []any{"migrate", host, port, "", 0, (10 * time.Second).Milliseconds(), "keys"}
		for _, key := range keys {
			args = append(args, key)
		}
		if err := source.Do(ctx, args...).Err(); err != nil {
			return fmt.Errorf("move keys of slot %d, %q: %w", slot, keys, err)
		}
	}
}

// owner returns the number of the node that has a slot.
func (c *Cluster) owner(ctx context.Context, slot int) (int, error) {
	shards, err := c.Nodes[0].Client().ClusterShards(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("ask who has slot %d: %w", slot, err)
	}
	for _, shard := range shards {
		for _, r := range shard.Slots {
			if int64(slot) < r.Start || int64(slot) > r.End {
				continue
			}
			for i, node := range c.Nodes {
				if mine, err := node.Client().ClusterMyID(ctx).Result(); err == nil && mine == shard.Nodes[0].ID {
					return i, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("no node has slot %d", slot)
}
