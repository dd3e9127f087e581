// Package pushtarget makes a channel of a push target, as the worker's
// push_url names it:
//
//	log:                  a line of JSON per delivery, see package logline
//	http://… https://…    a webhook, see package webhook
package pushtarget

import (
	"io"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/logline"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// Log is the target that writes to Options.Log.
const Log = "log:"

// Options are what the channels need beside the target. Each takes what it
// knows: a secret, say, changes nothing about Log.
type Options struct {
	Log io.Writer        // where Log writes; required
	Now func() time.Time // the clock; required
	// Secret signs a webhook's requests: "whsec_" and the base64 of 24 to 64
	// bytes. They are not signed when it is empty.
	Secret string
	// Timeout bounds one try at a webhook; zero means webhook.DefaultTimeout.
	Timeout time.Duration
}

// Open returns the channel of target. Settings that are not allowed are all in
// the error, each as a *notifier.InvalidError that names push_url, push_secret
// or push_timeout. A channel that holds connections is an io.Closer.
func Open(target string, o Options) (notifier.Notifier, error) {
	scheme, _, _ := strings.Cut(target, ":")
	switch {
	case strings.EqualFold(target, Log):
		return opened(logline.New(o.Log, o.Now))
	case strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "https"):
		return opened(webhook.New(webhook.Config{URL: target, Secret: o.Secret, Timeout: o.Timeout, Now: o.Now}))
	default:
		return nil, &notifier.InvalidError{
			Field: "push_url",
			Value: notifier.RedactURL(target),
			Want:  `"log:" or an http or https URL such as https://push.example.com/deliver`,
		}
	}
}

// opened keeps a nil pointer from becoming a Notifier that is not nil.
func opened[C notifier.Notifier](channel C, err error) (notifier.Notifier, error) {
	if err != nil {
		return nil, err
	}
	return channel, nil
}
