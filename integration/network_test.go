package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// toxic is one fault of a network.
type toxic struct {
	Type       string           `json:"type"`
	Stream     string           `json:"stream"` // upstream: towards the server
	Attributes map[string]int64 `json:"attributes"`
}

// toxics are the faults that every way must survive. The latency exceeds all timeouts:
// a request is done late, and its answer is lost.
func toxics() []toxic {
	const tooLong = int64(2 * loadPushTimeout / time.Millisecond)
	var all []toxic
	for _, stream := range []string{"upstream", "downstream"} {
		all = append(all,
			toxic{"latency", stream, map[string]int64{"latency": tooLong, "jitter": tooLong / 4}},
			toxic{"reset_peer", stream, map[string]int64{"timeout": 50}},
			toxic{"timeout", stream, map[string]int64{"timeout": 0}}, // nothing arrives, and nothing breaks
			toxic{"bandwidth", stream, map[string]int64{"rate": 2}},  // KB a second
		)
	}
	return all
}

// way is a connection to a server that toxics can be put on.
type way struct {
	*testing.T

	proxy *toxiproxy.Proxy
}

func newWay(t *testing.T, name, server string) way {
	t.Helper()
	zerolog.SetGlobalLevel(zerolog.Disabled) // some toxics write to the standard logger
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), name, "127.0.0.1:0", server)
	require.NoError(t, proxy.Start())
	t.Cleanup(proxy.Stop)
	return way{t, proxy}
}

func (w way) address() string { return w.proxy.Listen }

// put puts a toxic on the way until take is called.
func (w way) put(what toxic) (take func()) {
	w.Helper()
	text, err := json.Marshal(what)
	require.NoError(w, err)
	added, err := w.proxy.Toxics.AddToxicJson(bytes.NewReader(text))
	require.NoError(w, err)
	return func() {
		w.Helper()
		require.NoError(w, w.proxy.Toxics.RemoveToxic(w.Context(), added.Name))
	}
}

// Under load, the ways have latency above all timeouts, resets, silence and almost no
// bandwidth, in both directions. What was accepted arrives, and arrives once, unless
// the provider did not answer. Repeated requests are done once. The rules hold at the
// recorded times.
func TestNetworkFaultsUnderLoad(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		callers, workers, provider bool
		proof                      func(*load) int // shows that the faults were felt
	}{
		"between callers and store":   {callers: true, proof: func(l *load) int { return min(l.again, l.replayed) }},
		"between workers and store":   {workers: true, proof: (*load).late},
		"between worker and provider": {provider: true, proof: func(l *load) int { return sum(l.unsure) }},
		"everywhere":                  {callers: true, workers: true, provider: true, proof: func(l *load) int { return min(l.again, l.late()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Real(t)
			l := newLoad(t, server, "3/1s", "8/5s")
			provider := strings.TrimPrefix(l.receiver.URL(), "http://")
			callers, worker, push := server.Addr, server.Addr, provider
			var ways []way
			through := func(is bool, address *string) {
				if is {
					w := newWay(t, fmt.Sprintf("way-%d", len(ways)), *address)
					ways = append(ways, w)
					*address = w.address()
				}
			}
			through(row.callers, &callers)
			through(row.workers, &worker)
			through(row.provider, &push)
			l.work(worker, "http://"+push)
			l.work(worker, "http://"+push)
			stop := l.call(callers, 4)
			noticed := func() bool {
				l.mu.Lock()
				defer l.mu.Unlock()
				return row.proof(l) > 0
			}
			time.Sleep(500 * time.Millisecond)
			for round := 0; round == 0 || round < 4 && !noticed(); round++ {
				for _, what := range toxics() {
					var take []func()
					for _, w := range ways {
						take = append(take, w.put(what))
					}
					time.Sleep(time.Second)
					for _, take := range take {
						take()
					}
					time.Sleep(300 * time.Millisecond)
				}
			}
			l.awaitRequests(50)
			stop()
			l.settle(40 * time.Second)
			require.True(t, noticed(), "nobody noticed")
		})
	}
}
