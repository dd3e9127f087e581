package store

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLaggingReplicas(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"ip=10.0.0.7,port=6379,state=online,offset=100000000,lag=0":     "",
		"ip=10.0.0.7,port=6379,state=online,offset=99000000,lag=9":      "",
		"ip=10.0.0.7,port=6379,state=online,offset=100000000,lag=10":    "10.0.0.7:6379 silent for 10s",
		"ip=10.0.0.7,port=6379,state=online,offset=50000000,lag=0":      "10.0.0.7:6379 47 MB behind",
		"ip=10.0.0.7,port=6379,state=wait_bgsave,offset=0,lag=0":        "10.0.0.7:6379 which is still copying (wait_bgsave)",
		"ip=::1,port=7000,state=online,offset=100000000,lag=0,x=y,io=1": "",
	} {
		info := map[string]string{"master_repl_offset": "100000000", "slave0": "ip=a,port=1,state=online,offset=100000000,lag=1", "slave1": line}
		got := laggingReplicas(info)
		if want == "" {
			require.Empty(t, got, line)
			continue
		}
		require.Equal(t, []string{want}, got)
		sentences := Report{Nodes: []Node{{Address: "r:1", lagging: got}}}.Lagging()
		require.Len(t, sentences, 1)
		require.Contains(t, sentences[0], "Redis at r:1 has a replica that lags, "+want+": a failover to it loses")
	}
	require.Empty(t, laggingReplicas(nil))
}
