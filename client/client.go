package client

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Defaults of Options.
const (
	DefaultAttempts      = 4
	DefaultTimeout       = 30 * time.Second
	DefaultMaxRetryAfter = 30 * time.Second
)

// MaxAttempts is the largest Options.Attempts.
const MaxAttempts = 100

// Options configures a Client. The zero value is for an API that needs no key.
type Options struct {
	// HTTPClient sends the requests. Its Timeout and CheckRedirect are not used. Nil
	// means a new one, which keeps up to 64 idle connections.
	HTTPClient *http.Client
	// Key is the account's API key, sent with every request; "" means none. Anybody on the network
	// path can read it if the URL is http://.
	Key Key
	// Header has further fields of every request, such as one that a proxy requires.
	Header http.Header
	// Attempts is the maximum number of tries of a request, up to MaxAttempts. Zero means
	// DefaultAttempts; 1 means no retries.
	Attempts int
	// Timeout bounds one try, from dialing to the end of the answer. For a batch, a
	// dry run of a policy or a refit it bounds the wait for the next line. Zero means
	// DefaultTimeout.
	Timeout time.Duration
	// MaxRetryAfter is the longest Retry-After to wait for. A longer one ends the
	// attempts at once. Zero means DefaultMaxRetryAfter.
	MaxRetryAfter time.Duration
}

// Client calls the API. It is safe for concurrent use.
type Client struct {
	base string // without a slash at its end
	http http.Client
	// authorize adds the key and Options.Header. It is a function so that a printed Client shows no
	// key.
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
	o.Attempts, o.Timeout = cmp.Or(o.Attempts, DefaultAttempts), cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, DefaultMaxRetryAfter)
	switch {
	case !o.Key.sendable():
		return nil, invalid("key", "takes visible ASCII characters without spaces")
	case o.Attempts < 1 || o.Attempts > MaxAttempts:
		return nil, invalid("attempts", strconv.Itoa(o.Attempts)+" is not allowed: use 1 to "+strconv.Itoa(MaxAttempts))
	case o.Timeout < 0:
		return nil, invalid("timeout", o.Timeout.String()+" is not allowed: use a time above zero")
	case o.MaxRetryAfter < 0:
		return nil, invalid("max_retry_after", o.MaxRetryAfter.String()+" is not allowed: use a time above zero")
	}
	c := &Client{
		base: strings.TrimRight(baseURL, "/"), http: httpClient(o.HTTPClient),
		attempts: o.Attempts, timeout: o.Timeout, maxRetryAfter: o.MaxRetryAfter,
	}
	fields := o.Header.Clone()
	c.authorize = func(h http.Header) {
		maps.Copy(h, fields)
		if o.Key != "" {
			h.Set("Authorization", "Bearer "+string(o.Key))
		}
	}
	return c, nil
}

// CloseIdleConnections closes the connections that no request is using.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }

// checkBase checks a base URL. Its error does not repeat the URL, which may hold a
// password.
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

// httpClient returns the http.Client for requests. It follows no redirects, which could turn a POST
// into a GET, or send the key to another server.
func httpClient(given *http.Client) http.Client {
	var h http.Client
	if given != nil {
		h = *given
		h.Timeout = 0 // it would end a batch before its end
	} else if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		own := standard.Clone()
		own.MaxIdleConnsPerHost = 64 // with the default of two, most calls would dial
		h.Transport = own
	}
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return h
}
