package sendlimittest

import (
	"runtime"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// Judge returns the Model's decision about every send of the trace, in its
// order. A store must decide the same about trace.Request(i, start) with Now
// set to start. Users are judged in parallel.
func Judge(trace traffic.Trace, policy policy.Policy, start time.Time, reach time.Duration) ([]sendlimit.Decision, error) {
	models := make([]*Model, runtime.GOMAXPROCS(0))
	for i := range models {
		m, err := NewModel(policy, reach)
		if err != nil {
			return nil, err
		}
		models[i] = m
	}
	// Each user belongs to one model. Only the model's goroutine writes the
	// user's decisions.
	owner := make(map[string]*Model)
	for _, send := range trace.Sends {
		if owner[send.User] == nil {
			owner[send.User] = models[len(owner)%len(models)]
		}
	}
	decisions := make([]sendlimit.Decision, len(trace.Sends))
	var wg sync.WaitGroup
	for _, m := range models {
		wg.Go(func() {
			for i, send := range trace.Sends {
				if owner[send.User] == m {
					r := trace.Request(i, start)
					r.Now = start
					decisions[i] = m.Reserve(r)
				}
			}
		})
	}
	wg.Wait()
	return decisions, nil
}
