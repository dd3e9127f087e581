package channels

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/logline"
	"github.com/sendlimit/sendlimiter/notifier/service"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// LogTarget is the target that writes to TargetOptions.Log.
const LogTarget = "log:"

// TargetOptions configures the channels. A channel ignores options that it does not have: Secret,
// Headers, Proxy and UserAgent change nothing about LogTarget and services.
type TargetOptions struct {
	Log io.Writer        // where LogTarget writes; required
	Now func() time.Time // the clock; required
	// Secret signs a webhook's requests, one or two as in webhook.Config. If it is empty, they
	// are not signed.
	Secret string
	// Timeout bounds one attempt at a webhook or a service; zero means the DefaultTimeout of
	// its package.
	Timeout time.Duration
	// Headers are sent with each request of a webhook: a line for each, see
	// webhook.ParseHeaders.
	Headers string
	// Proxy is the proxy to a webhook: the URL of one, or ProxyFromEnvironment. If it is
	// empty, there is none.
	Proxy string
	// UserAgent names the sender to a webhook; empty means "sendlimit".
	UserAgent string
}

// ProxyFromEnvironment is the TargetOptions.Proxy that follows HTTPS_PROXY, HTTP_PROXY and NO_PROXY
// in the environment, as they were when it was first used.
const ProxyFromEnvironment = "environment"

// OpenTarget returns the channel of target. The error has a *notifier.InvalidError for each
// setting that is not allowed: push_url, push_secret, push_timeout, push_headers or push_proxy.
// A channel that keeps connections is an io.Closer.
func OpenTarget(target string, o TargetOptions) (notifier.Notifier, error) {
	scheme, _, _ := strings.Cut(target, ":")
	switch {
	case notifier.ServiceScheme(target) != "":
		return opened(service.New(service.Config{URL: target, Timeout: o.Timeout}))
	case strings.EqualFold(target, LogTarget):
		return opened(logline.New(o.Log, o.Now))
	case strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "https"):
		headers, wrongHeaders := webhook.ParseHeaders(o.Headers)
		proxy, wrongProxy := proxyOf(o.Proxy)
		if err := errors.Join(wrongHeaders, wrongProxy); err != nil {
			return nil, err
		}
		return opened(webhook.New(webhook.Config{
			URL: target, Secret: o.Secret, Timeout: o.Timeout, Now: o.Now, Headers: headers, Proxy: proxy,
			UserAgent: o.UserAgent,
		}))
	default:
		return nil, &notifier.InvalidError{
			Field: "push_url",
			Value: notifier.RedactURL(target),
			Want: `"log:", an http or https URL such as https://push.example.com/deliver, or the URL of a service with one of these schemes: ` +
				strings.Join(notifier.ServiceSchemes(), ", "),
		}
	}
}

// proxyOf returns the proxy for each request; nil for none.
func proxyOf(setting string) (func(*http.Request) (*url.URL, error), error) {
	switch setting {
	case "":
		return nil, nil
	case ProxyFromEnvironment:
		return http.ProxyFromEnvironment, nil
	}
	proxy, err := url.Parse(setting)
	if err != nil || proxy.Hostname() == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, proxy.Scheme) {
		return nil, &notifier.InvalidError{
			Field: "push_proxy",
			Value: notifier.RedactURL(setting),
			Want:  `"environment", or an http, https or socks5 URL such as http://proxy.example.com:3128`,
		}
	}
	return http.ProxyURL(proxy), nil
}
