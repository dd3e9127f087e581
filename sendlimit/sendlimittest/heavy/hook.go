package heavy

import "github.com/redis/go-redis/v9"

// scriptHook is the part of a client hook that looks at single calls only.
type scriptHook struct{}

// DialHook does nothing.
func (scriptHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook does nothing: the calls here are none of a pipeline.
func (scriptHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
