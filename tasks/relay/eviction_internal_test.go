package relay

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// The end of evictions is logged once all servers say so: one that does not answer may still evict.
func TestASilentServerMayStillEvict(t *testing.T) {
	t.Parallel()
	silent := errors.New("a server does not answer")
	keeps, evicts := store.Memory{Address: "a", Policy: "noeviction", Evicted: 3}, store.Memory{Address: "b", Policy: "allkeys-lru"}
	var log bytes.Buffer
	r := &Relay{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	const begins, ends = "so nothing is accepted", "messages are accepted again"
	for _, row := range []struct {
		why     string
		servers []store.Memory
		failed  error
		logs    string
	}{
		{"none is known to evict", []store.Memory{keeps}, silent, ""},
		{"one evicts", []store.Memory{keeps, evicts}, nil, begins},
		{"it does not answer", []store.Memory{keeps}, silent, ""},
		{"none answers", nil, silent, ""},
		{"it is the only one that answers", []store.Memory{evicts}, silent, ""},
		{"all keep their keys", []store.Memory{keeps}, nil, ends},
		{"all still do", []store.Memory{keeps}, nil, ""},
	} {
		log.Reset()
		r.tellEviction(t.Context(), row.servers, row.failed)
		require.Equal(t, min(1, len(row.logs)), strings.Count(log.String(), "\n"), "%s: %s", row.why, &log)
		require.Contains(t, log.String(), row.logs, row.why)
	}
}
