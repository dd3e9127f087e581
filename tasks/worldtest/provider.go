package worldtest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Behaviour is how a channel treats messages for a while.
type Behaviour string

// The behaviours.
const (
	Takes       Behaviour = ""
	Unavailable Behaviour = "answers 503"
	SlowsDown   Behaviour = "answers 429, and asks for a pause of everything" // Wait says for how long
	Limits      Behaviour = "answers 429 for a message"                       // Wait says for how long
	RefusesAll  Behaviour = "refuses the credentials"
	Hangs       Behaviour = "hangs"             // until the context ends, and takes nothing
	Resets      Behaviour = "resets"            // and takes nothing
	AnswerLost  Behaviour = "takes, and resets" // nobody is told
	Rejects     Behaviour = "rejects the message"
	TakesTime   Behaviour = "takes its time" // Wait says how long
)

// Arrival is an attempt that reached a channel.
type Arrival struct {
	User, ID, Category string
	Title              string
	Channel            string
	Device             string // "" for a channel without devices
	At                 time.Time
	SendAt             time.Time // as the message said
	Attempt            int
	Taken              bool // the channel took it
	Told               bool // and said so, to a process that lived
	Process            string
}

// Recipient names the recipient of an arrival: a channel, or a device of its user.
func (a Arrival) Recipient() string {
	if a.Device == "" {
		return "@" + a.Channel
	}
	return a.Device
}

// provider receives the messages of all workers' channels, and keeps their arrivals.
type provider struct {
	now func() time.Time

	mu       sync.Mutex
	behaves  map[string]behaviour // by channel
	gone     map[string]bool      // by user/device
	refused  map[string]bool      // by user
	arrivals []Arrival
}

type behaviour struct {
	what Behaviour
	wait time.Duration
}

func newProvider(now func() time.Time) *provider {
	return &provider{now: now, behaves: make(map[string]behaviour), gone: make(map[string]bool), refused: make(map[string]bool)}
}

func (p *provider) behave(channel string, what Behaviour, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behaves[channel] = behaviour{what, wait}
}

// lose makes a device gone from now on.
func (p *provider) lose(user, device string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone[user+"/"+device] = true
}

// refuse makes a user's messages be refused, or ends that.
func (p *provider) refuse(user string, is bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[user] = is
}

// Arrivals returns the attempts so far.
func (p *provider) Arrivals() []Arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Arrival(nil), p.arrivals...)
}

// channel is a channel of one worker, in front of the provider.
type channel struct {
	name     string
	process  *process
	provider *provider
	admits   func(process string) fate // decides whether the worker is stopped here
}

// Notify takes a notification to the provider.
func (c *channel) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	what := c.admits(c.process.name)
	if what == stopped {
		c.process.stop()
	}
	if c.process.isStopped() {
		<-c.process.end
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnreachable, Err: errStopped}
	}
	result := c.provider.take(ctx, c, n, what == lastly)
	if what == lastly {
		c.process.stop()
		<-c.process.end
	}
	return result
}

func (p *provider) take(ctx context.Context, c *channel, n notifier.Notification, untold bool) notifier.Result {
	p.mu.Lock()
	b := p.behaves[c.name]
	if b.what == Takes && p.refused[n.User] {
		b.what = RefusesAll
	}
	a := Arrival{
		User: n.User, ID: n.ID, Category: n.Category, Title: n.Title, Channel: c.name, At: p.now(), SendAt: n.SendAt,
		Attempt: n.Attempt, Process: c.process.name,
	}
	if n.Device != nil {
		a.Device = n.Device.ID
	}
	gone := p.gone[n.User+"/"+a.Device]
	a.Taken = (b.what == Takes || b.what == TakesTime || b.what == AnswerLost) && !gone
	a.Told = a.Taken && b.what != AnswerLost && !untold
	p.arrivals = append(p.arrivals, a)
	p.mu.Unlock()
	switch b.what {
	case Unavailable:
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: errors.New("503")}
	case SlowsDown:
		return notifier.Result{
			Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: b.wait, Pause: notifier.PauseChannel, Err: errors.New("429"),
		}
	case Limits:
		return notifier.Result{
			Status: notifier.SlowDown, Reason: notifier.ReasonRateLimited, RetryAfter: b.wait, Pause: notifier.PauseMessage, Err: errors.New("429"),
		}
	case RefusesAll:
		return notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, Err: errors.New("401")}
	case Hangs:
		<-ctx.Done()
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: ctx.Err()}
	case Resets, AnswerLost:
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonNetwork, Err: errors.New("connection reset by peer")}
	case Rejects:
		return notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonRejected, Err: errors.New("400")}
	case TakesTime:
		wait(ctx, b.wait)
	case Takes:
	}
	if gone {
		return notifier.Result{Status: notifier.Gone, Reason: notifier.ReasonGone, Err: errors.New("410")}
	}
	return notifier.Result{Status: notifier.Delivered, ProviderID: "p"}
}

// mail receives the alerts about quotas.
type mail struct {
	now func() time.Time

	mu      sync.Mutex
	behaves Behaviour
	taken   []Mail
}

// Mail is an alert that a contact received.
type Mail struct {
	To   string
	ID   string
	Kind string
	// Percent is the threshold of an alert.
	Percent int
	At      time.Time
	Told    bool
	// Process is the worker that sent it.
	Process string
}

// announcer is the mail server as a worker reaches it.
type announcer struct {
	process *process
	mail    *mail
	admits  func(process string) fate
}

// Announce takes a notice to its contact.
func (a *announcer) Announce(_ context.Context, to string, n notifier.Notice) notifier.Result {
	what := a.admits(a.process.name)
	if what == stopped {
		a.process.stop()
	}
	if a.process.isStopped() {
		<-a.process.end
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnreachable, Err: errStopped}
	}
	a.mail.mu.Lock()
	b := a.mail.behaves
	if b == Takes {
		a.mail.taken = append(a.mail.taken, Mail{To: to, ID: n.ID, Kind: string(n.Kind), Percent: n.Threshold, At: a.mail.now(), Told: what != lastly, Process: a.process.name})
	}
	a.mail.mu.Unlock()
	if what == lastly {
		a.process.stop()
		<-a.process.end
	}
	if b != Takes {
		return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: errors.New("451")}
	}
	return notifier.Result{Status: notifier.Delivered, ProviderID: "mail"}
}
