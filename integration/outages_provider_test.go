package integration_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

// providerAnswer is how a provider answers that is away.
type providerAnswer string

const (
	answersError   providerAnswer = "answers 500"
	answersTooMany providerAnswer = "answers 429"
	hangsUp        providerAnswer = "hangs"
	resets         providerAnswer = "resets connections"
)

// outagesProvider is a receiver of webhooks that goes away. What it does not answer with
// 200 it has not taken.
type outagesProvider struct {
	*notifiertest.Receiver

	mu    sync.Mutex
	away  *awayPlan // now; nil for none
	taken map[messageName][]time.Time
	tries map[messageName][]providerTry
}

// providerTry is a request for a message.
type providerTry struct {
	at     time.Time
	sendAt string         // as the request has it
	answer providerAnswer // "" for 200
}

func newOutagesProvider(t *testing.T) *outagesProvider {
	t.Helper()
	p := &outagesProvider{
		Receiver: notifiertest.NewReceiver(time.Now),
		taken:    make(map[messageName][]time.Time), tries: make(map[messageName][]providerTry),
	}
	t.Cleanup(p.Close)
	p.AnswerWith(func(r notifiertest.Request) notifiertest.Answer {
		a, err := p.note(r)
		switch {
		case err != nil:
			t.Error(err)
		case a == nil:
		case a.answer == answersError:
			return notifiertest.Answer{Status: http.StatusInternalServerError}
		case a.answer == answersTooMany:
			return notifiertest.Answer{
				Status: http.StatusTooManyRequests,
				Header: http.Header{"Retry-After": {strconv.Itoa(int(a.wait / time.Second))}},
			}
		case a.answer == hangsUp:
			return notifiertest.Answer{Delay: time.Hour}
		case a.answer == resets:
			panic(http.ErrAbortHandler)
		}
		return notifiertest.Answer{}
	})
	return p
}

// note notes a request, and returns how the provider is away.
func (p *outagesProvider) note(r notifiertest.Request) (*awayPlan, error) {
	payload, err := r.Payload()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name, try := messageName{payload.User, payload.ID}, providerTry{at: r.Arrived, sendAt: payload.SendAt}
	if p.away != nil {
		try.answer = p.away.answer
	} else {
		p.taken[name] = append(p.taken[name], r.Arrived)
	}
	p.tries[name] = append(p.tries[name], try)
	return p.away, nil
}

// goAway makes the provider go away; nil makes it come back.
func (p *outagesProvider) goAway(a *awayPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = a
}
