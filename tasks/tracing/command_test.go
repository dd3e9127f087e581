package tracing_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/tasks/tracing"
)

// Commands have spans below one that is recorded, with the name of a script, and without keys,
// values and texts of errors.
func TestCommandsHaveSpansWithoutKeys(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	client.AddHook(tracing.Hook())
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))

	require.NoError(t, client.Set(t.Context(), "private", "secret", 0).Err()) // nobody traces it
	require.Empty(t, spans.Ended())

	ctx, root := provider.Tracer("test").Start(t.Context(), "root")
	require.ErrorIs(t, client.Get(ctx, "privatekey").Err(), redis.Nil)
	require.Error(t, client.LPush(ctx, "private", "secret").Err())
	text, err := lua.Text("place/release")
	require.NoError(t, err)
	require.Error(t, client.Eval(ctx, text, []string{"private"}, "secret").Err())
	_, err = client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Get(ctx, "private")
		pipe.Del(ctx, "private")
		return nil
	})
	require.NoError(t, err)
	gone, stop := context.WithCancel(ctx)
	stop()
	require.ErrorIs(t, client.Get(gone, "private").Err(), context.Canceled)
	root.End()

	var names []string
	attributes := make(map[string]map[attribute.Key]string)
	for _, span := range spans.Ended() {
		if span.Parent().SpanID() != root.SpanContext().SpanID() {
			continue // the root, or the greeting of a connection, below a command
		}
		names = append(names, span.Name())
		attributes[span.Name()] = make(map[attribute.Key]string)
		for _, a := range span.Attributes() {
			attributes[span.Name()][a.Key] = a.Value.String()
			require.NotContains(t, a.Value.String(), "private")
			require.NotContains(t, a.Value.String(), "secret")
		}
		require.Empty(t, span.Events(), "an error is no event: its text may name a key")
		require.Empty(t, span.Status().Description)
		if span.Name() == "LPUSH" {
			require.Equal(t, codes.Error, span.Status().Code)
		}
	}
	require.Equal(t, []string{"GET", "LPUSH", "EVAL place/release", "GET", "GET"}, names)
	require.Equal(t, "WRONGTYPE", attributes["LPUSH"]["error.type"])
	require.Equal(t, "place/release", attributes["EVAL place/release"]["db.stored_procedure.name"])
	require.Equal(t, "canceled", attributes["GET"]["error.type"])
	require.Equal(t, "redis", attributes["GET"]["db.system.name"])
}

func TestEveryScriptHasAName(t *testing.T) {
	t.Parallel()
	for _, script := range lua.All() {
		require.NotEmpty(t, lua.NameOf(script.Hash()))
	}
	require.Empty(t, lua.NameOf("return 1"))
}
