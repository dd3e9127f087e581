package fcm

import (
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

// Judge is how an answer to a push to a device is judged.
func (f *Notifier) Judge(status int, header map[string][]string, body string) notifier.Result {
	r, _ := f.judge(exchange.Answer{Status: status, Header: header, Body: []byte(body)}, "a device")
	return r
}

// JudgeToken is how an answer to a request for a token is judged.
func (f *Notifier) JudgeToken(status int, header map[string][]string, body string) (string, notifier.Result) {
	a := exchange.Answer{Status: status, Header: header, Body: []byte(body)}
	token, _, r := readToken(a)
	return token, f.backoffs.settle(r, exchange.RetryAfter(a.Header, f.now(), MaxRetryAfter), backoffToken, firstOverload, f.now())
}

var _ interface {
	notifier.Notifier
	notifier.Checker
	notifier.Prober
	notifier.Identifier
} = (*Notifier)(nil)
