package integration_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// A master of a cluster hangs, and more clients ask for its users than the API answers
// requests at a time. Soon others get their answers as before, and the worker is ready and
// names the master.
func TestTheAPIAnswersWithoutAMaster(t *testing.T) {
	t.Parallel()
	p := buildPrograms(t)
	s := &clusterStory{
		delivery: &delivery{T: t},
		cluster: redistest.RealCluster(t, "--appendonly", "yes",
			"--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"),
	}
	s.watching = s.connect()
	away, there := s.users(otherNode, 600), s.users(lastNode, 100)
	worker := p.worker(t, []string{"REDIS_URL=redis-cluster://" + strings.Join(s.cluster.Addrs(), ",")}, "--deliver=false")
	endpoint, err := url.Parse(worker.logged(t, "API endpoint", "url"))
	require.NoError(t, err)
	a := &apiProcess{workerProcess: worker, address: endpoint.Host}
	require.Greater(t, len(away), api.DefaultInFlight)
	transport := &http.Transport{MaxIdleConnsPerHost: len(away)}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	require.NoError(t, a.submit(t.Context(), client, there[0]))

	hangs := hangs()
	hangs.away(t, s.cluster.Nodes[otherNode])
	defer hangs.back(t, s.cluster.Nodes[otherNode])
	known := time.Now().Add(7 * time.Second) // by then the master is known to be away
	var asking sync.WaitGroup
	var ended atomic.Bool
	for _, user := range away {
		asking.Go(func() {
			for !ended.Load() {
				if a.submit(t.Context(), client, user) == nil {
					t.Errorf("%s was accepted", user)
				}
				time.Sleep(time.Second)
			}
		})
	}
	time.Sleep(time.Until(known))
	slow := 0
	for _, user := range there[1:] {
		began := time.Now()
		require.NoError(t, a.submit(t.Context(), client, user), user)
		if time.Since(began) > 3*time.Second { // as all would be behind those that wait for the master
			slow++
		}
	}
	require.Less(t, slow, len(there)/2)
	for _, path := range []string{"/readyz", "/healthz"} {
		require.Equal(t, http.StatusOK, statusOf(t, fmt.Sprintf("http://%s%s", a.address, path)), path)
	}
	ended.Store(true)
	asking.Wait()
}
