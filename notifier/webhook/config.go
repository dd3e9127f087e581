package webhook

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// DefaultTimeout is the default of Config.Timeout: the minimum that Standard Webhooks recommends.
const DefaultTimeout = 15 * time.Second

// MaxTimeout is the maximum of Config.Timeout.
const MaxTimeout = 5 * time.Minute

// DefaultUserAgent is the default of Config.UserAgent.
const DefaultUserAgent = exchange.DefaultUserAgent

// Config configures a Notifier. URL and Now are required.
type Config struct {
	// URL is an http or https URL with a host and without a fragment. Its user and password are
	// sent as basic authentication.
	URL string
	// Secret signs the requests: "whsec_" and 24 to 64 bytes in base64. Two secrets separated by a
	// comma or white space both sign, so that one can replace the other while the receiver knows
	// only one. If it is empty, requests are not signed.
	Secret string
	// Timeout bounds one attempt, from dialing to the answer's headers; zero means DefaultTimeout.
	Timeout time.Duration
	// UserAgent names the sender; empty means DefaultUserAgent.
	UserAgent string
	// Headers are sent with each request, in addition to the package's own. Errors do not show
	// them. User-Agent is a separate setting.
	Headers http.Header
	// Proxy returns the proxy for a request, as http.ProxyURL and http.ProxyFromEnvironment do; nil
	// means no proxy, whatever the environment says.
	Proxy func(*http.Request) (*url.URL, error)
	// Now returns the signed time.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	c.Timeout, c.UserAgent = cmp.Or(c.Timeout, DefaultTimeout), cmp.Or(c.UserAgent, DefaultUserAgent)
	return c
}

// validate returns the parsed URL, or all problems, joined.
func (c Config) validate() (*url.URL, error) {
	target, err := parseURL(c.URL)
	problems := []error{err}
	if _, valid := notifier.ParseSecrets(c.Secret); !valid {
		problems = append(problems, &notifier.InvalidError{Field: "push_secret", Value: "(not shown)", Want: notifier.WantSecrets})
	}
	problems = append(problems, validHeaders(c.Headers, target != nil && target.User != nil))
	problems = append(problems, c.validateCommon()...)
	return target, errors.Join(problems...)
}

// validateCommon returns the problems of the settings that an Announcer has, too.
func (c Config) validateCommon() []error {
	problems := []error{exchange.CheckTimeout("push_timeout", c.Timeout, MaxTimeout)}
	if !visible(c.UserAgent) {
		problems = append(problems, &notifier.InvalidError{Field: "user_agent", Value: c.UserAgent, Want: "visible ASCII characters and spaces"})
	}
	if c.Now == nil {
		problems = append(problems, errors.New("a webhook needs a clock"))
	}
	return problems
}

func parseURL(raw string) (*url.URL, error) {
	invalid := &notifier.InvalidError{
		Field: "push_url",
		Value: notifier.RedactURL(raw),
		Want:  "an http or https URL with a host and without a fragment, such as https://push.example.com/deliver",
	}
	target, err := url.Parse(raw)
	if err != nil {
		return nil, invalid // url.Parse's error repeats the URL, secrets included
	}
	if target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" || strings.Contains(raw, "#") {
		return nil, invalid
	}
	if port := target.Port(); port != "" || strings.HasSuffix(target.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, invalid
		}
	}
	return target, nil
}

// visible reports whether s can be a header value.
func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
