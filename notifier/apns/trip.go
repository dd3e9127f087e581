package apns

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// maxTries bounds the attempts for a request that the server certainly did not process.
const maxTries = 5

// trip sends one request over a pool. It sends it again at once if the server certainly did not
// process it: it refused the stream, or sent a GOAWAY with a lower one.
type trip struct {
	pool *pool
	used *conn // the connection of the last try
}

// RoundTrip sends the request. Its error wraps exchange.ErrNotProcessed if the server certainly did
// not process it.
func (t *trip) RoundTrip(r *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		c, err := t.pool.acquire(r.Context())
		if err != nil {
			return nil, fmt.Errorf("%w: %w", exchange.ErrNotProcessed, err)
		}
		t.used = c
		response, err := c.RoundTrip(r)
		if err == nil {
			if !c.proven.Swap(true) {
				t.pool.signal() // it has more streams now
			}
			return response, nil
		}
		ended, certain := notProcessed(err)
		if ended {
			t.pool.retireOne(c)
		}
		switch {
		case !certain:
			return nil, err //nolint:wrapcheck // the caller judges it
		case try == maxTries:
			return nil, fmt.Errorf("%w: %w", exchange.ErrNotProcessed, err)
		}
		body, err := r.GetBody()
		if err != nil {
			return nil, fmt.Errorf("%w: read the body again: %w", exchange.ErrNotProcessed, err)
		}
		r = r.Clone(r.Context())
		r.Body = body
	}
}

// streamError receives net/http's error of a stream, see errors.As.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return fmt.Sprintf("stream error %d", e.Code) }

// refusedStream is the error code of a stream that was not processed, see RFC 9113, 8.7.
const refusedStream = 7

// notProcessed reports whether the server certainly did not process a request, and whether its
// connection accepts no more. net/http identifies most of these errors only by their text. If a
// text changes, the result is uncertain, and a test fails.
func notProcessed(err error) (ended, certain bool) {
	if stream, ok := errors.AsType[streamError](err); ok {
		return false, stream.Code == refusedStream
	}
	text := err.Error()
	for _, known := range []string{
		"http2: Transport received Server's graceful shutdown GOAWAY", // which names a lower stream
		"http2: Transport received GOAWAY from server ErrCode:",       // the same of the first stream
		"http2: client conn not usable",                               // a GOAWAY came before
		"http2: client conn could not be established",
	} {
		if strings.HasPrefix(text, known) {
			return true, true
		}
	}
	return false, false
}
