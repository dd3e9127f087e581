package webpush

import (
	"crypto/ecdh"
	"time"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// Judge is how answers are judged.
func Judge(a exchange.Answer, host string, now time.Time) notifier.Result { return judge(a, host, now) }

// Seal encrypts with a known key and salt.
func Seal(s Subscription, sender *ecdh.PrivateKey, salt, plain []byte) ([]byte, error) {
	return seal(s, sender, salt, plain, 0)
}

// WithoutTLS has w speak no TLS, before its first delivery.
func (w *Notifier) WithoutTLS() { w.client.Transport.DialTLSContext = w.client.Transport.DialContext }

// Answered is a push service's answer.
func Answered(status int, header map[string][]string, body string) exchange.Answer {
	return exchange.Answer{Status: status, Header: header, Body: []byte(body)}
}

var _ interface {
	notifier.Notifier
	notifier.Checker
	notifier.Prober
} = (*Notifier)(nil)

// Encrypt encrypts with a new key and salt, as each push is.
func Encrypt(s Subscription, plain []byte) ([]byte, error) { return encrypt(s, plain) }

// Authorization signs a token for an origin, or returns the one that is kept.
func (w *Notifier) Authorization(origin string, now time.Time) (string, error) {
	return w.signer.authorization(origin, now)
}
