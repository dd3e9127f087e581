package fcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	scope     = "https://www.googleapis.com/auth/firebase.messaging"
	grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

	// assertionLife is the validity of a signed token request: Google's maximum.
	assertionLife = time.Hour
	// clockSkew is how far the clock may be ahead of Google's.
	clockSkew = 10 * time.Second
	// clockPause is the pause of a message if the clocks do not agree.
	clockPause = time.Minute
	// maxLife bounds the use of a token. Google's are valid for an hour.
	maxLife = time.Hour
	// renewEarly is how long before its end a token is renewed.
	renewEarly = 5 * time.Minute
	// earlyAgain is the pause after a failed renewal of a token that is still valid.
	earlyAgain = 30 * time.Second
)

// tokens exchanges signed assertions for bearer tokens. It is safe for concurrent use.
type tokens struct {
	account  account
	client   exchange.Client
	backoffs *backoffs
	now      func() time.Time

	mu      sync.Mutex
	token   string // "" for none
	renewAt time.Time
	endsAt  time.Time
	running *renewal // nil if none
	over    bool
}

// renewal is one exchange. All who need a token wait for it.
type renewal struct {
	done   chan struct{} // closed when token or failure is set
	cancel context.CancelFunc

	token   string
	failure notifier.Result // for every push that waited, if there is no token
}

// bearer returns a token, or the Result of a push without one. It renews a token that ends soon,
// and uses it meanwhile.
func (t *tokens) bearer(ctx context.Context) (string, notifier.Result) {
	if ctx.Err() != nil {
		return "", calledOff(ctx)
	}
	t.mu.Lock()
	now := t.now()
	if t.token != "" && now.Before(t.endsAt) {
		if !now.Before(t.renewAt) && t.running == nil {
			t.renew(ctx)
		}
		defer t.mu.Unlock()
		return t.token, notifier.Result{}
	}
	if t.running == nil {
		t.renew(ctx)
	}
	running := t.running
	t.mu.Unlock()
	select {
	case <-running.done:
		return running.token, running.failure
	case <-ctx.Done():
		return "", calledOff(ctx)
	}
}

// reject discards a token that FCM refuses.
func (t *tokens) reject(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}

// close cancels a renewal and waits for its end.
func (t *tokens) close() {
	t.mu.Lock()
	t.over = true
	running := t.running
	t.mu.Unlock()
	if running != nil {
		running.cancel()
		<-running.done
	}
}

// renew starts a renewal, which does not end with the context of its push. The caller holds the
// lock.
func (t *tokens) renew(ctx context.Context) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &renewal{done: make(chan struct{}), cancel: cancel}
	t.running = r
	if t.over {
		cancel()
	}
	go func() {
		defer cancel()
		defer close(r.done)
		// The push that started it, and its cleanups, may have ended.
		exchanged, clean := notifier.WithCleanup(ctx)
		token, life, failure := t.exchange(exchanged)
		clean()
		r.token, r.failure = token, failure
		t.mu.Lock()
		defer t.mu.Unlock()
		now := t.now()
		t.running = nil
		if token == "" {
			t.renewAt = now.Add(earlyAgain)
			return
		}
		t.token, t.endsAt = token, now.Add(life)
		t.renewAt = t.endsAt.Add(-min(renewEarly, life/5))
	}()
}

// exchange requests a token once.
func (t *tokens) exchange(ctx context.Context) (token string, life time.Duration, failure notifier.Result) {
	request, err := t.request(ctx)
	if err != nil {
		return "", 0, notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, Err: err}
	}
	failure = t.client.Send(ctx, request, func(a exchange.Answer) notifier.Result {
		var result notifier.Result
		token, life, result = readToken(a)
		asked := exchange.RetryAfter(a.Header, t.now(), MaxRetryAfter)
		if result.Pause == notifier.PauseMessage && asked == 0 {
			asked = clockPause
		}
		return t.backoffs.settle(result, asked, backoffToken, firstOverload, t.now())
	})
	if failure.Uncertain() {
		// The exchange may have arrived. The push was certainly not sent.
		failure.Reason = notifier.ReasonUnreachable
	}
	return token, life, failure
}

// request returns the request for a token (RFC 7523).
func (t *tokens) request(ctx context.Context) (*http.Request, error) {
	now := t.now().Add(-clockSkew)
	assertion := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": t.account.email, "scope": scope, "aud": t.account.tokenURL,
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if t.account.keyID != "" {
		assertion.Header["kid"] = t.account.keyID
	}
	signed, err := assertion.SignedString(t.account.key)
	if err != nil {
		return nil, errors.New("the request for a token can't be signed with the service account's key")
	}
	form := url.Values{"grant_type": {grantType}, "assertion": {signed}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.account.tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the request for a token can't be made") // err repeats the URL
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return request, nil
}

// readToken reads the answer to a token request. The Result is that of a push that needs the token.
func readToken(a exchange.Answer) (token string, life time.Duration, result notifier.Result) {
	fails := func(s notifier.Status, r notifier.Reason, why string) (string, time.Duration, notifier.Result) {
		result := notifier.Result{Status: s, Reason: r, Err: fmt.Errorf("no token: the token endpoint answered with HTTP status %d%s", a.Status, why)}
		if s == notifier.SlowDown {
			result.Pause = notifier.PauseChannel
		}
		return "", 0, result
	}
	var said struct {
		Token   string `json:"access_token"`
		Seconds int64  `json:"expires_in"`
		Error   string `json:"error"`
		Text    string `json:"error_description"`
	}
	_ = json.Unmarshal(a.Body, &said) // unreadable members stay empty
	switch status := a.Status; {
	case status >= 200 && status <= 299:
		if said.Token == "" || !exchange.Printable(said.Token) {
			return fails(notifier.Refused, notifier.ReasonMisaddressed, ", and no token")
		}
		life = maxLife
		if said.Seconds > 0 && said.Seconds < int64(maxLife/time.Second) {
			life = time.Duration(said.Seconds) * time.Second
		}
		return said.Token, life, notifier.Result{Status: notifier.Delivered}
	case status == http.StatusTooManyRequests:
		return fails(notifier.SlowDown, notifier.ReasonRateLimited, "")
	case status == http.StatusRequestTimeout, status < 200, status >= 500:
		return fails(notifier.SlowDown, notifier.ReasonUnavailable, "")
	case status <= 399:
		return fails(notifier.Refused, notifier.ReasonMisaddressed, ", a redirect, which is not followed")
	case strings.Contains(said.Text, "Check your iat and exp"):
		// This worker's clock is wrong. Those of other workers may be right.
		token, life, result = fails(notifier.SlowDown, notifier.ReasonUnavailable,
			knownGrant(said.Error)+": this worker's clock may be wrong")
		result.Pause = notifier.PauseMessage
		return token, life, result
	default:
		return fails(notifier.Refused, notifier.ReasonUnauthorized, knownGrant(said.Error))
	}
}

// knownGrant returns an error code of RFC 6749 for the log.
func knownGrant(code string) string {
	switch code {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
		return ", " + code
	default:
		return ""
	}
}

// calledOff is the Result of a push whose context ended before it had a token.
func calledOff(ctx context.Context) notifier.Result {
	return notifier.Result{
		Status: notifier.Retry, Reason: notifier.ReasonUnreachable,
		Err: fmt.Errorf("no token yet, nothing was sent: %w", ctx.Err()),
	}
}
