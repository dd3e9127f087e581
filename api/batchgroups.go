package api

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
)

// groups forgets the users of a dry run after some lines, which bounds the copies in the store. The
// outcomes are the same if each user's lines are together. A line of a forgotten user ends the dry
// run.
type groups struct {
	lines  *lines
	most   int                         // lines of a group
	forget func(context.Context) error // removes the copies, while nothing is judged

	seed  maphash.Seed
	count int      // lines of the group
	users []uint64 // of the group, hashed
	gone  map[uint64]bool

	judging atomic.Int64  // lines that are read and not judged
	idle    chan struct{} // gets a value when there are none
}

func newGroups(l *lines, most int, forget func(context.Context) error) *groups {
	return &groups{lines: l, most: most, forget: forget, seed: maphash.MakeSeed(), gone: make(map[uint64]bool), idle: make(chan struct{}, 1)}
}

func (g *groups) next(ctx context.Context) (bulk.Line, error) {
	line, err := g.lines.next(ctx)
	if err != nil {
		return line, err
	}
	user := maphash.String(g.seed, line.Message.User)
	same := len(g.users) > 0 && user == g.users[len(g.users)-1]
	switch {
	case g.count == g.most && same:
		return bulk.Line{}, tooManyLines(g.most)
	case g.count == g.most:
		if err := g.begin(ctx); err != nil {
			return bulk.Line{}, err
		}
	}
	if g.gone[user] {
		return bulk.Line{}, fault.Wrong("body", "a dry run of more than %d lines has the lines of each user together: there are earlier ones of this user", g.most)
	}
	g.count++
	if !same {
		g.users = append(g.users, user)
	}
	if line.Invalid == nil {
		g.judging.Add(1)
	}
	return line, nil
}

// begin begins a group once all lines before it are judged.
func (g *groups) begin(ctx context.Context) error {
	for g.judging.Load() > 0 {
		select {
		case <-g.idle:
		case <-ctx.Done():
			return fmt.Errorf("waiting for earlier lines: %w", ctx.Err())
		}
	}
	for _, user := range g.users {
		g.gone[user] = true
	}
	g.users, g.count = g.users[:0], 0
	return g.forget(ctx)
}

// reportIdle returns a judge that reports when no line is being judged.
func (g *groups) reportIdle(judge bulk.Judge) bulk.Judge {
	return func(ctx context.Context, m message.Message) (message.Outcome, error) {
		defer func() {
			if g.judging.Add(-1) == 0 {
				select {
				case g.idle <- struct{}{}:
				default:
				}
			}
		}()
		return judge(ctx, m)
	}
}
