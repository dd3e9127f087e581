package tracing

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/sendlimit/sendlimiter/lua"
)

// Command starts the span of commands that are sent to the store together, below that of ctx. It
// has the name of the first command, or of its script, and no keys or values.
func Command(ctx context.Context, commands ...redis.Cmder) (context.Context, Span) {
	if len(commands) == 0 || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, Span{}
	}
	name, script := strings.ToUpper(commands[0].Name()), ""
	if words := commands[0].Args(); len(words) > 1 && (name == "EVALSHA" || name == "EVAL") {
		text, _ := words[1].(string)
		script = lua.NameOf(text)
	}
	ctx, s := child(ctx, name, script, trace.SpanKindClient)
	s.Set(semconv.DBSystemNameRedis, semconv.DBOperationName(name))
	if script != "" {
		s.Set(semconv.DBStoredProcedureName(script))
	}
	if len(commands) > 1 {
		s.Set(semconv.DBOperationBatchSize(len(commands)))
	}
	return ctx, s
}

// EndCommand ends the span of commands with their error. A missing value is no error.
func (s Span) EndCommand(err error) {
	if s.span == nil {
		return
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		s.Fail(kindOf(err))
	}
	s.End()
}

// kindOf returns the code of a server's error, such as "NOSCRIPT", or why there was no answer. It
// does not return the text of an error, which can name keys.
func kindOf(err error) string {
	var answered redis.Error
	var network net.Error
	switch {
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &answered):
		code, _, _ := strings.Cut(answered.Error(), " ")
		if code == strings.ToUpper(code) && len(code) < 32 {
			return code
		}
	}
	return orOther("")
}

// Hook returns a hook for a client of the store. It writes a span for each command and each
// pipeline below a recorded span.
func Hook() redis.Hook { return hook{} }

type hook struct{}

// DialHook leaves connecting as it is: a connection serves many callers.
func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook writes the spans of single commands.
func (hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !trace.SpanFromContext(ctx).IsRecording() {
			return next(ctx, cmd)
		}
		ctx, span := Command(ctx, cmd)
		err := next(ctx, cmd)
		span.EndCommand(err)
		return err
	}
}

// ProcessPipelineHook writes the spans of pipelines.
func (hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if !trace.SpanFromContext(ctx).IsRecording() {
			return next(ctx, cmds)
		}
		ctx, span := Command(ctx, cmds...)
		err := next(ctx, cmds)
		span.EndCommand(err)
		return err
	}
}
