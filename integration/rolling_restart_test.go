package integration_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

// Two workers behind a proxy that asks /readyz are restarted one after the other while clients
// submit: no request fails, whether on a new connection or a kept one.
func TestARollingRestartFailsNoRequest(t *testing.T) {
	t.Parallel()
	p := startProxied(t)
	const name = "haproxy"
	x := p.behind(t, name, proxyKinds()[name].from)
	var submitted atomic.Int64
	var failed output.Buffer
	var clients sync.WaitGroup
	stopped := make(chan struct{})
	stop := sync.OnceFunc(func() { close(stopped) })
	defer clients.Wait()
	defer stop()
	for n := range 8 {
		asked := x.client(t, n%2 == 0)
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stopped:
					return
				case <-time.After(10 * time.Millisecond):
				}
				if err := x.submits(t, asked, fmt.Sprint("u-", n, "-", i)); err != nil {
					fmt.Fprintln(&failed, err)
				}
				submitted.Add(1)
				if n < 2 {
					asked.CloseIdleConnections()
				}
			}
		})
	}
	for i, server := range []string{"one", "two"} {
		up := "sendlimit/" + server + " is UP"
		before := strings.Count(x.output.String(), up)
		require.Zero(t, p.workers[i].end(t), "%s", &p.workers[i].stderr)
		p.start(t, i)
		require.Eventually(t, func() bool { return strings.Count(x.output.String(), up) > before }, 20*time.Second, 20*time.Millisecond, "%s", &x.output)
	}
	require.Eventually(t, func() bool { return submitted.Load() > 1000 }, 20*time.Second, 20*time.Millisecond)
	stop()
	clients.Wait()
	require.Empty(t, failed.String(), "of %d requests", submitted.Load())
}

// submits submits a message, and returns an error unless it was accepted.
func (x *proxy) submits(t *testing.T, with *http.Client, user string) error {
	t.Helper()
	body := fmt.Sprintf(`{"user":%q,"id":"m","send_at":%q,"title":"Hi"}`, user, time.Now().Add(time.Hour).Format(time.RFC3339))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, x.url("v1/messages"), strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+x.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := with.Do(request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusCreated {
		err = fmt.Errorf("answered %s", response.Status)
	}
	return errors.Join(err, response.Body.Close())
}
