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

// Options configures the channels. A channel ignores options that it does not have: Secret
// changes nothing about Log.
type Options struct {
	Log io.Writer        // where Log writes; required
	Now func() time.Time // the clock; required
	// Secret signs a webhook's requests: "whsec_" and 24 to 64 bytes in base64. If it is
	// empty, they are not signed.
	Secret string
	// Timeout bounds one attempt at a webhook; zero means webhook.DefaultTimeout.
	Timeout time.Duration
}

// Open returns the channel of target. The error has a *notifier.InvalidError for each
// setting that is not allowed: push_url, push_secret or push_timeout. A channel that keeps
// connections is an io.Closer.
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

// opened returns a nil Notifier, rather than one with a nil pointer, if there is an error.
func opened[C notifier.Notifier](channel C, err error) (notifier.Notifier, error) {
	if err != nil {
		return nil, err
	}
	return channel, nil
}
