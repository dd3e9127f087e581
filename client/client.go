package client

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// What Options are unless they say otherwise.
const (
	DefaultAttempts      = 4
	DefaultTimeout       = 30 * time.Second
	DefaultMaxRetryAfter = 30 * time.Second
)

// MaxAttempts is the most that Options.Attempts may be.
const MaxAttempts = 100

// Options configure a Client. The zero value is good for an API that asks for
// no key.
type Options struct {
	// HTTPClient sends the requests; nil means one of the Client's own, which
	// keeps up to 64 connections. Its Timeout and CheckRedirect are not used.
	HTTPClient *http.Client
	// Key is the account's API key, sent with every request; "" means none. Over
	// http:// everybody on the way can read it.
	Key Key
	// Attempts is how often a request is sent at most, up to MaxAttempts; zero
	// means DefaultAttempts, 1 means that nothing is repeated.
	Attempts int
	// Timeout bounds one try from dialing to the end of the answer, and how
	// long a batch, a preview or a refit waits for the next line of it; zero means
	// DefaultTimeout.
	Timeout time.Duration
	// MaxRetryAfter is the longest Retry-After that is waited for; one that asks
	// for more ends the attempts at once. Zero means DefaultMaxRetryAfter.
	MaxRetryAfter time.Duration
}

// Client calls the API. It is safe for concurrent use.
type Client struct {
	base string // without a slash at its end
	http http.Client
	// authorize is a function so that printing a Client shows no key.
	authorize     func(http.Header)
	attempts      int
	timeout       time.Duration
	maxRetryAfter time.Duration
}

// New returns a Client for the API at a base URL, such as
// http://127.0.0.1:8080. The error is an *InvalidError.
func New(baseURL string, o Options) (*Client, error) {
	if err := checkBase(baseURL); err != nil {
		return nil, err
	}
	if o.Attempts == 0 {
		o.Attempts = DefaultAttempts
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxRetryAfter == 0 {
		o.MaxRetryAfter = DefaultMaxRetryAfter
	}
	switch {
	case !o.Key.sendable():
		return nil, invalid("key", "takes visible ASCII characters without spaces")
	case o.Attempts < 1 || o.Attempts > MaxAttempts:
		return nil, invalid("attempts", strconv.Itoa(o.Attempts)+" is not allowed: it takes 1 to "+strconv.Itoa(MaxAttempts))
	case o.Timeout < 0:
		return nil, invalid("timeout", o.Timeout.String()+" is not allowed: it takes a time above zero")
	case o.MaxRetryAfter < 0:
		return nil, invalid("max_retry_after", o.MaxRetryAfter.String()+" is not allowed: it takes a time above zero")
	}
	c := &Client{
		base: strings.TrimRight(baseURL, "/"), http: httpClient(o.HTTPClient), authorize: func(http.Header) {},
		attempts: o.Attempts, timeout: o.Timeout, maxRetryAfter: o.MaxRetryAfter,
	}
	if o.Key != "" {
		c.authorize = func(h http.Header) { h.Set("Authorization", "Bearer "+string(o.Key)) }
	}
	return c, nil
}

// CloseIdleConnections closes the connections that no request is using.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// checkBase does not repeat the URL, which may hold a password.
func checkBase(baseURL string) error {
	u, err := url.Parse(baseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(baseURL, "?#") {
		return invalid("base_url", "takes an http or https URL with a host, such as http://127.0.0.1:8080, and nothing behind its path")
	}
	if u.User != nil {
		return invalid("base_url", "takes no user or password: use a key")
	}
	return nil
}

// httpClient returns what sends the requests. A redirect is an answer: to
// follow one could turn a POST into a GET, or take the key elsewhere.
func httpClient(given *http.Client) http.Client {
	var h http.Client
	if given != nil {
		h = *given
		h.Timeout = 0 // would end a batch in the midst of it
	} else if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		own := standard.Clone()
		own.MaxIdleConnsPerHost = 64 // of the standard two, most callers would dial anew
		h.Transport = own
	}
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h
}
