package webhook

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/sendlimit/sendlimiter/notifier"
)

// Notifier posts notifications to a URL. Create one with New.
type Notifier struct {
	*poster

	target        string // without user and password
	authorization string // of the user and password in the URL; "" for none
	identity      string
}

// New returns a Notifier. The error has a *notifier.InvalidError for each wrong setting, and shows
// no secret.
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
	n.identity = identify(target, c.Secret, n.authorization, c.Headers)
	return n, nil
}

func identify(target *url.URL, secret, authorization string, headers http.Header) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q", target, secret, authorization)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(sum, " %q %q", name, headers[name])
	}
	return target.Host + ", credentials " + hex.EncodeToString(sum.Sum(nil)[:2])
}

// Identity returns the host, and 16 bits of a hash of the URL, the secrets and the headers: enough
// to see a change, and too few to guess a password.
func (w *Notifier) Identity() string { return w.identity }

// Notify posts n once. Without a valid IdempotencyKey (1 to 255 of A-Z a-z 0-9 _ : -) the result is
// Permanent and nothing is sent.
func (w *Notifier) Notify(ctx context.Context, n notifier.Notification) notifier.Result {
	return w.post(ctx, w.target, w.authorization, n.IdempotencyKey, notifier.NewPayload(n))
}
