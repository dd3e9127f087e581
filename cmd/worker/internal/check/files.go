package check

import (
	"context"
	"fmt"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/tasks/announce"
)

// ownFiles is about how many files a worker has open besides its connections: listeners, files of
// settings, those of the runtime, lookups of names.
const ownFiles = 64

// openFiles returns how many files a worker may have open at a time. Each delivery to a webhook, a
// service or a browser has a connection; FCM and APNs share a few.
func openFiles(c config.Config) int {
	files := ownFiles + store.PoolSize + announce.Together
	if c.Listen != "" {
		files += c.Requests + c.Streams + c.EventStreams
	}
	if !c.Deliver {
		return files
	}
	if target := c.PushTarget(); target != "" && target != config.LogTarget && notifier.ServiceScheme(target) == "" {
		files += c.Deliveries
	}
	if c.WebPush.Set() {
		files += c.Deliveries
	}
	return files
}

// looksAtFiles returns the look at the limit of open files if it is lower than the settings need.
func looksAtFiles(c config.Config, limit uint64) []look {
	need := openFiles(c)
	if uint64(need) <= limit {
		return nil
	}
	return []look{{"files", fmt.Sprintf("limit %d", limit), cli.StatusUnexpected, func(context.Context) (string, error) {
		return "", fmt.Errorf("these settings may need %d open files at a time, and the process may have %d: raise the limit"+
			" (ulimit -n, or LimitNOFILE of systemd) to at least %d, or lower deliveries, requests, streams or event_streams", need, limit, need)
	}}}
}
