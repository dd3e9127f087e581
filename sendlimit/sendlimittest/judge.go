package sendlimittest

import (
	"runtime"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// Judge returns the Model's answer to every send of the traffic, submitted in
// order, all at the start of the year: what a store must answer to
// Request(i, start) with start for its Now. Users are judged side by side.
func (t Traffic) Judge(policy policy.Policy, start time.Time, reach time.Duration) ([]sendlimit.Decision, error) {
	models := make([]*Model, runtime.GOMAXPROCS(0))
	for i := range models {
		m, err := NewModel(policy, reach)
		if err != nil {
			return nil, err
		}
		models[i] = m
	}
	// A user belongs to one model, whose goroutine alone writes the user's
	// decisions.
	owner := make(map[string]*Model)
	for _, send := range t.Sends {
		if owner[send.User] == nil {
			owner[send.User] = models[len(owner)%len(models)]
		}
	}
	decisions := make([]sendlimit.Decision, len(t.Sends))
	var wg sync.WaitGroup
	for _, m := range models {
		wg.Go(func() {
			for i, send := range t.Sends {
				if owner[send.User] == m {
					r := t.Request(i, start)
					r.Now = start
					decisions[i] = m.Reserve(r)
				}
			}
		})
	}
	wg.Wait()
	return decisions, nil
}
