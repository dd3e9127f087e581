package channels

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/logline"
	"github.com/sendlimit/sendlimiter/notifier/service"
	"github.com/sendlimit/sendlimiter/notifier/webhook"
)

// proxyFromEnvironment is the push_proxy that follows HTTPS_PROXY, HTTP_PROXY and NO_PROXY in the
// environment, as of its first use.
const proxyFromEnvironment = "environment"

// OpenTarget returns the channel of the push target, with the secret of the settings. "log:" writes
// to log. The error has a *notifier.InvalidError for each invalid setting. A channel that keeps
// connections is an io.Closer.
func OpenTarget(c config.Config, now func() time.Time, log io.Writer) (notifier.Notifier, error) {
	target := c.PushTarget()
	scheme, _, _ := strings.Cut(target, ":")
	switch {
	case notifier.ServiceScheme(target) != "":
		return as[notifier.Notifier](service.New(service.Config{URL: target, Timeout: c.PushTimeout}))
	case strings.EqualFold(target, config.LogTarget):
		return as[notifier.Notifier](logline.New(log, now))
	case strings.EqualFold(scheme, "http"), strings.EqualFold(scheme, "https"):
		headers, wrongHeaders := webhook.ParseHeaders(string(c.PushHeaders))
		proxy, wrongProxy := proxyOf(c.PushProxy)
		if err := errors.Join(wrongHeaders, wrongProxy); err != nil {
			return nil, err
		}
		return as[notifier.Notifier](webhook.New(webhook.Config{
			URL: target, Secret: string(c.PushSecret), Timeout: c.PushTimeout, Now: now, Headers: headers, Proxy: proxy, UserAgent: cli.UserAgent(),
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
	case proxyFromEnvironment:
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
