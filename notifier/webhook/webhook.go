package webhook

import (
	"context"
	"encoding/base64"
	"net"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Notifier posts notifications to a URL. Make one with New.
type Notifier struct {
	*poster

	target        string // without user and password
	authorization string // of the user and password in the URL; "" for none
}

// New returns a Notifier for c. The error has a *notifier.InvalidError for each setting that
// is not allowed, and shows no secret.
func New(c Config) (*Notifier, error) {
	c = c.withDefaults()
	target, err := c.validate()
	if err != nil {
		return nil, err
	}
	posts, err := newPoster(posting{
		secret: c.Secret, timeout: c.Timeout, userAgent: c.UserAgent, now: c.Now,
		dialer: &net.Dialer{}, parallel: parallel, headers: c.Headers.Clone(), proxy: c.Proxy, ours: true,
	})
	if err != nil {
		return nil, err
	}
	n := &Notifier{poster: posts}
	if user := target.User; user != nil {
		password, _ := user.Password()
		n.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
		target.User = nil
	}
	n.target = target.String()
	return n, nil
}

// Notify posts n once. If the IdempotencyKey is not valid (1 to 255 of A-Z a-z 0-9 _ : -) it
// returns Permanent and sends nothing.
func (w *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	return w.post(ctx, w.target, w.authorization, n.IdempotencyKey, notifier.NewPayload(n))
}
