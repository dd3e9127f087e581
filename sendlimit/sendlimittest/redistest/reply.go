package redistest

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// FixedReply is a client that gets the same reply to every script. Other
// commands panic.
type FixedReply struct {
	redis.UniversalClient // nil

	Reply any
}

// EvalSha returns the reply.
func (f FixedReply) EvalSha(context.Context, string, []string, ...any) *redis.Cmd {
	return redis.NewCmdResult(f.Reply, nil)
}
