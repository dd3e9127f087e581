package fcm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/internal/exchange"
)

const (
	scope = "https://www.googleapis.com/auth/firebase.messaging"
	// renewBefore is how long before its end a token is renewed.
	renewBefore = 5 * time.Minute
	// defaultLife is how long a token is valid whose answer does not say.
	defaultLife = time.Hour
	// failedFor is for how long a failed renewal is the answer to all who ask, so that not
	// every push asks the token server.
	failedFor = time.Second
)

// tokens keeps the bearer token of a service account. It is renewed early, by one request at a
// time; others use the former token meanwhile. It is safe for concurrent use.
type tokens struct {
	account account
	client  exchange.Client
	now     func() time.Time

	ctx  context.Context //nolint:containedctx // it ends with the tokens, see close
	stop context.CancelFunc
	all  sync.WaitGroup

	mu       sync.Mutex
	kept     token
	renewing chan struct{} // closed when the renewal has ended; nil if there is none
	failed   notifier.Result
	failedAt time.Time
}

// token is a bearer token.
type token struct {
	text  string
	until time.Time
}

func newTokens(a account, client exchange.Client, now func() time.Time) *tokens {
	t := &tokens{account: a, client: client, now: now}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// close ends a running renewal.
func (t *tokens) close() {
	t.stop()
	t.all.Wait()
}

// get returns a valid token. Otherwise it returns the Result of a push that was not sent for
// lack of one.
func (t *tokens) get(ctx context.Context) (string, *notifier.Result) {
	t.mu.Lock()
	now := t.now()
	left := t.kept.until.Sub(now)
	valid := t.kept.text != "" && left > 0
	if valid && left > renewBefore {
		defer t.mu.Unlock()
		return t.kept.text, nil
	}
	recent := t.failed.Status != 0 && now.Sub(t.failedAt) < failedFor && !now.Before(t.failedAt)
	if t.renewing == nil && !recent {
		done := make(chan struct{})
		t.renewing = done
		t.all.Go(func() { t.renew(done) })
	}
	if valid {
		defer t.mu.Unlock()
		return t.kept.text, nil
	}
	done, failed := t.renewing, t.failed
	t.mu.Unlock()
	if done == nil {
		return "", &failed
	}
	select {
	case <-done:
	case <-ctx.Done():
		return "", &notifier.Result{
			Status: notifier.Retry, Reason: notifier.ReasonUnreachable,
			Err: errors.New("the push was not sent: the token server did not answer in time"),
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.text != "" && t.now().Before(t.kept.until) {
		return t.kept.text, nil
	}
	failed = t.failed
	return "", &failed
}

// forget drops a token that the server refused, unless it was renewed meanwhile.
func (t *tokens) forget(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept.text == text {
		t.kept = token{}
	}
}

// renew gets a new token, and closes done.
func (t *tokens) renew(done chan struct{}) {
	made, failed := t.request(t.ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if failed.Status == notifier.Delivered {
		t.kept, t.failed = made, notifier.Result{}
	} else {
		t.failed, t.failedAt = failed, t.now()
	}
	t.renewing = nil
	close(done)
}

// request exchanges a signed assertion for a token, as RFC 7523 says. The Result is Delivered
// if it got one, and else that of a push for lack of one.
func (t *tokens) request(ctx context.Context) (token, notifier.Result) {
	assertion, err := t.assertion()
	if err != nil {
		return token{}, refused(err)
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.account.tokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return token{}, refused(errors.New("the request for a token can't be made"))
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var made token
	result := t.client.Send(ctx, request, func(a exchange.Answer) notifier.Result {
		var r notifier.Result
		made, r = t.read(a)
		return r
	})
	if result.Uncertain() { // about the token; the push was certainly not sent
		result.Reason = notifier.ReasonUnreachable
	}
	return made, result
}

func (t *tokens) assertion() (string, error) {
	now := t.now()
	signed := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": t.account.email, "scope": scope, "aud": t.account.tokenURL, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	signed.Header["kid"] = t.account.keyID
	text, err := signed.SignedString(t.account.key)
	if err != nil {
		return "", errors.New("the request for a token can't be signed")
	}
	return text, nil
}

// read reads the answer of the token server.
func (t *tokens) read(a exchange.Answer) (token, notifier.Result) {
	var said struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
		Error       string `json:"error"`
	}
	err := json.Unmarshal(a.Body, &said)
	switch {
	case a.Status >= 200 && a.Status <= 299:
		if err != nil || said.AccessToken == "" || strings.ContainsAny(said.AccessToken, "\r\n") {
			return token{}, notifier.Result{
				Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: errors.New("the answer of the token server has no token"),
			}
		}
		life := time.Duration(min(max(said.ExpiresIn, 0), int64(24*time.Hour/time.Second))) * time.Second
		if life == 0 {
			life = defaultLife
		}
		return token{text: said.AccessToken, until: t.now().Add(life)}, notifier.Result{Status: notifier.Delivered}
	case a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooManyRequests, a.Status > 499:
		return token{}, notifier.Result{
			Status: notifier.Retry, Reason: notifier.ReasonUnavailable, Err: statusError("the token server", a.Status, ""),
			RetryAfter: exchange.Spread(exchange.RetryAfter(a.Header, t.now(), MaxRetryAfter)),
		}
	}
	word := ""
	if slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client", "invalid_scope", "invalid_request"}, said.Error) {
		word = said.Error
	}
	return token{}, refused(statusError("the token server", a.Status, word))
}

func refused(err error) notifier.Result {
	return notifier.Result{Status: notifier.Refused, Reason: notifier.ReasonUnauthorized, Err: err}
}
