package integration_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// worldProvider receives webhooks and notices of a world, and behaves as it is told.
type worldProvider struct {
	*notifiertest.Receiver

	mu       sync.Mutex
	behaves  map[string]worldtest.Behaviour // by channel
	wait     map[string]time.Duration
	arrivals []worldtest.Arrival
	mails    []worldtest.Mail
	refused  map[string]bool // by user
	gone     map[string]bool // by user and device
}

// isGone is the behaviour of a channel to a device that is gone.
const isGone worldtest.Behaviour = "gone"

func newWorldProvider(t *testing.T) *worldProvider {
	t.Helper()
	p := &worldProvider{
		Receiver: notifiertest.NewReceiver(time.Now), refused: make(map[string]bool), gone: make(map[string]bool),
		behaves: make(map[string]worldtest.Behaviour), wait: make(map[string]time.Duration),
	}
	t.Cleanup(p.Close)
	p.AnswerWith(func(r notifiertest.Request) notifiertest.Answer {
		if process, ok := strings.CutPrefix(r.URI, "/mail/"); ok {
			if err := p.takeMail(r, process); err != nil {
				t.Error(err)
			}
			return notifiertest.Answer{}
		}
		behaves, wait, err := p.take(r)
		if err != nil {
			t.Error(err)
		}
		switch behaves {
		case isGone:
			return notifiertest.Answer{Status: http.StatusGone}
		case worldtest.Unavailable:
			return notifiertest.Answer{Status: http.StatusServiceUnavailable}
		case worldtest.RefusesAll:
			return notifiertest.Answer{Status: http.StatusForbidden}
		case worldtest.SlowsDown, worldtest.Limits:
			return notifiertest.Answer{
				Status: http.StatusTooManyRequests,
				Header: http.Header{"Retry-After": {strconv.Itoa(int((wait + time.Second - 1) / time.Second))}},
			}
		case worldtest.Hangs:
			return notifiertest.Answer{Delay: time.Hour}
		case worldtest.Resets, worldtest.AnswerLost:
			panic(http.ErrAbortHandler)
		case worldtest.Rejects:
			return notifiertest.Answer{Status: http.StatusBadRequest}
		case worldtest.TakesTime: // well within the time that a push has
			return notifiertest.Answer{Delay: min(wait, worldPushTimeout/3)}
		case worldtest.Takes:
		}
		return notifiertest.Answer{}
	})
	return p
}

func (p *worldProvider) takeMail(r notifiertest.Request, process string) error {
	m := worldtest.Mail{}
	if err := json.Unmarshal(r.Body, &m); err != nil {
		return err
	}
	m.At, m.Told, m.Process = r.Arrived, true, process
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mails = append(p.mails, m)
	return nil
}

// take notes a request, and returns what the provider does with it.
func (p *worldProvider) take(r notifiertest.Request) (worldtest.Behaviour, time.Duration, error) {
	payload, err := r.Payload()
	if err != nil {
		return "", 0, err
	}
	sendAt, err := time.Parse(time.RFC3339, payload.SendAt)
	if err != nil {
		return "", 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	process, device, _ := strings.Cut(strings.TrimPrefix(r.URI, "/"), "/")
	channel := notifier.ChannelWebhook
	switch {
	case strings.HasPrefix(device, "a"):
		channel = notifier.ChannelAPNs
	case device != "":
		channel = notifier.ChannelFCM
	}
	behaves := p.behaves[channel]
	if behaves == worldtest.Takes && p.refused[payload.User] {
		behaves = worldtest.RefusesAll
	}
	if p.gone[payload.User+"/"+device] {
		behaves = isGone
	}
	told := behaves == worldtest.Takes || behaves == worldtest.TakesTime
	p.arrivals = append(p.arrivals, worldtest.Arrival{
		User: payload.User, ID: payload.ID, Category: payload.Category, Title: payload.Title, Channel: channel, Device: device,
		At: r.Arrived, SendAt: sendAt, Attempt: payload.Attempt, Process: process,
		Taken: told || behaves == worldtest.AnswerLost, Told: told,
	})
	return behaves, p.wait[channel], nil
}

// behave has a channel behave in a way from now on.
func (p *worldProvider) behave(channel string, b worldtest.Behaviour, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behaves[channel], p.wait[channel] = b, wait
}

// lose makes a device gone from now on.
func (p *worldProvider) lose(user, device string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone[user+"/"+device] = true
}

// refuse lets what is for a user be refused, or not any more.
func (p *worldProvider) refuse(user string, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[user] = is
}

// got returns what arrived so far.
func (p *worldProvider) got() ([]worldtest.Arrival, []worldtest.Mail) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]worldtest.Arrival(nil), p.arrivals...), append([]worldtest.Mail(nil), p.mails...)
}
