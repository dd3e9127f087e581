package apns

import (
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// Judge is how answers are judged.
func Judge(a exchange.Answer, now time.Time) notifier.Result {
	r, _ := judge(a, false, &backoff{}, now)
	return r
}

// Answered is an answer of Apple's server.
func Answered(status int, header map[string][]string, body string) exchange.Answer {
	return exchange.Answer{Status: status, Header: header, Body: []byte(body)}
}

// OverHTTP1 has a speak HTTP/1.1 without TLS to a server at host:port, before its first
// delivery.
func (a *Notifier) OverHTTP1(address string) {
	a.host, a.pool.scheme, a.pool.address = "http://"+address, "http", address
	a.pool.transport.Protocols = new(http.Protocols)
	a.pool.transport.Protocols.SetHTTP1(true)
}

// Bearer signs a provider token, or returns the one in use.
func (a *Notifier) Bearer() (string, error) { return a.signer.bearer(a.now()) }

// PingAfter has a ping connections earlier, before its first delivery.
func (a *Notifier) PingAfter(silence, patience time.Duration) {
	a.pool.transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: patience}
}

var _ interface {
	notifier.Notifier
	notifier.Checker
	notifier.Prober
	notifier.Identifier
} = (*Notifier)(nil)
