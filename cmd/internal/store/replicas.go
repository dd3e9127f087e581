package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// silentReplica is how long a replica may confirm nothing before it is lagging. Replicas
	// confirm every second.
	silentReplica = 10 * time.Second
	// behindReplica is how many bytes a replica may be behind its server.
	behindReplica = 16 << 20
)

// Lagging returns a sentence about each replica that is still copying or behind its server: a
// failover to it would lose messages.
func (r Report) Lagging() []string {
	var sentences []string
	for _, n := range r.Nodes {
		for _, replica := range n.lagging {
			sentences = append(sentences, fmt.Sprintf("Redis at %s has a replica that lags, %s: a failover to it loses what was"+
				" accepted since; see the log of the replica and the network between them", n.Address, replica))
		}
	}
	return sentences
}

// laggingReplicas describes the replicas in an INFO that lag. It has a line for each, such as
// slave0:ip=10.0.0.7,port=6379,state=online,offset=1234,lag=0.
func laggingReplicas(info map[string]string) []string {
	written, _ := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	var lagging []string
	for n := 0; ; n++ {
		line, found := info["slave"+strconv.Itoa(n)]
		if !found {
			return lagging
		}
		of := make(map[string]string)
		for field := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(field, "=")
			of[name] = value
		}
		if why := lag(of, written); why != "" {
			lagging = append(lagging, of["ip"]+":"+of["port"]+" "+why)
		}
	}
}

// lag describes how a replica lags behind a server that has written `written` bytes; "" if it does
// not.
func lag(of map[string]string, written int64) string {
	if state := of["state"]; state != "online" {
		return "which is still copying (" + state + ")"
	}
	seconds, err := strconv.ParseInt(of["lag"], 10, 64)
	if silence := time.Duration(seconds) * time.Second; err == nil && silence >= silentReplica {
		return fmt.Sprintf("silent for %s", silence)
	}
	read, err := strconv.ParseInt(of["offset"], 10, 64)
	if err == nil && written-read >= behindReplica {
		return fmt.Sprintf("%d MB behind", (written-read)>>20)
	}
	return ""
}
