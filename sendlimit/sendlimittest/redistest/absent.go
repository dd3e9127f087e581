package redistest

import (
	"context"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// PassOverAbsent is a hook for clients of an embedded server. In a pipeline that only looks
// into sorted sets it does not ask the server for those that do not exist. A relay looks into
// those of all partitions, of which nearly none exist: that was a third of the processor time
// of the tests with workers. The first look is always sent: it fails where the server is away
// or is made to fail, and then all do.
func PassOverAbsent(server *miniredis.Miniredis) redis.Hook { return absent{server: server} }

type absent struct{ server *miniredis.Miniredis }

func (absent) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (absent) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (a absent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var asked, passed []redis.Cmder
		for i, cmd := range cmds {
			look, ok := cmd.(*redis.ZSliceCmd)
			if !ok || look.Name() != "zrange" {
				return next(ctx, cmds)
			}
			if key, _ := look.Args()[1].(string); i == 0 || a.server.Exists(key) {
				asked = append(asked, cmd)
			} else {
				passed = append(passed, cmd)
			}
		}
		err := next(ctx, asked)
		for _, cmd := range passed {
			cmd.SetErr(asked[0].Err())
		}
		return err
	}
}
