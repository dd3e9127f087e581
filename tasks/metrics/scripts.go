package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/tasks/internal/storeclock"
)

// MeasureScripts measures the scripts that are called through client, in pipelines too.
// Call it before any other use of the client.
func (m *Metrics) MeasureScripts(client redis.UniversalClient) {
	if m == nil {
		return
	}
	hook := scriptHook{names: lua.NamesByHash(), took: m.histograms["script_duration_seconds"], local: storeclock.New().Local}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		// Hooks on the nodes also see connections that are taken from them.
		cluster.OnNewNode(func(node *redis.Client) { node.AddHook(hook) })
		return
	}
	client.AddHook(hook)
}

// scriptHook measures only the calls of our scripts. Those of the queue have no name here.
type scriptHook struct {
	names map[string]string // by hash
	took  *prometheus.HistogramVec
	local func() time.Time
}

// DialHook changes nothing.
func (scriptHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook measures a single call.
func (h scriptHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		name := h.script(cmd)
		if name == "" {
			return next(ctx, cmd)
		}
		began := h.local()
		err := next(ctx, cmd)
		h.observe(name, err, h.local().Sub(began))
		return err
	}
}

// ProcessPipelineHook measures the calls in a pipeline.
func (h scriptHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := h.local()
		err := next(ctx, cmds)
		took := h.local().Sub(began)
		for _, cmd := range cmds {
			if name := h.script(cmd); name != "" {
				h.observe(name, cmd.Err(), took)
			}
		}
		return err
	}
}

// script returns the name of the script that a command calls, "" if it is not ours.
func (h scriptHook) script(cmd redis.Cmder) string {
	args := cmd.Args()
	if len(args) < 2 {
		return ""
	}
	text, _ := args[1].(string)
	switch cmd.Name() {
	case "evalsha":
		return h.names[text]
	case "eval": // once for each server, which then keeps the script
		return h.names[redis.NewScript(text).Hash()]
	}
	return ""
}

// observe notes a call, unless the server only answered that it does not have the script:
// then another call follows.
func (h scriptHook) observe(name string, err error, took time.Duration) {
	if !redis.HasErrorPrefix(err, "NOSCRIPT") {
		h.took.WithLabelValues(name).Observe(took.Seconds())
	}
}
