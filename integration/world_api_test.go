package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// worldAPI is the URL of the HTTP API of a caller's own process, for its orders.
type worldAPI string

// asAccount is the header that stands for a key of an account.
const asAccount = "World-Account"

func newWorldAPI(t *testing.T, b *backend.Backend, s *submit.Submitter) worldAPI {
	t.Helper()
	o, end, err := api.PartsOf(b, api.PartOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, end()) })
	o.Submitter, o.Now = s, time.Now
	o.Stats = func(context.Context) (message.Stats, error) { return message.Stats{}, nil }
	handler, err := api.New(o)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.Header.Get(asAccount); name != "" {
			r = r.WithContext(api.As(r.Context(), api.Hand{Identity: accounts.Identity{
				Account: accounts.Account{Name: name, Tier: name}, Key: accounts.APIKey{Scopes: []accounts.Scope{accounts.ScopeSubmit}},
			}}))
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return worldAPI(server.URL + "/v1/")
}

// carryOut is worldOrder.carryOut over HTTP.
func (a worldAPI) carryOut(ctx context.Context, o worldOrder) (message.Outcome, error) {
	m := o.Message
	path := fmt.Sprintf("users/%s/messages/%s", m.User, m.ID)
	fields := map[string]any{
		"id": m.ID, "user": m.User, "title": m.Title, "category": m.Category, "campaign": m.Campaign, "send_at": m.SendAt,
		"expires_at": m.ExpiresAt, "on_conflict": m.OnConflict, "shift_until": m.ShiftUntil, "late": m.Late,
	}
	if m.Window != nil {
		fields["window"] = map[string]any{"from": m.Window.From, "until": m.Window.Until, "prefer": m.Window.Prefer}
	}
	switch o.Do {
	case worldtest.Submit:
		return a.ask(ctx, m.Account, http.MethodPost, "messages", fields)
	case worldtest.DryRun:
		return a.ask(ctx, m.Account, http.MethodPost, "messages/dry-run", fields)
	case worldtest.Put:
		return a.ask(ctx, m.Account, http.MethodPut, path, fields)
	case worldtest.Cancel:
		return a.ask(ctx, m.Account, http.MethodDelete, path, nil)
	default:
		patch := make(map[string]any)
		if o.Patch.Edit.Title != nil {
			patch["title"] = *o.Patch.Edit.Title
		}
		if move := o.Patch.Move; move != nil {
			patch["send_at"], patch["on_conflict"], patch["shift_until"] = move.At, move.OnConflict, move.ShiftUntil
		}
		return a.ask(ctx, m.Account, http.MethodPatch, path, patch)
	}
}

// ask makes a request of the fields that are set.
func (a worldAPI) ask(ctx context.Context, account, method, path string, fields map[string]any) (o message.Outcome, err error) {
	for name, value := range fields {
		if at, isTime := value.(time.Time); value == "" || isTime && at.IsZero() {
			delete(fields, name)
		}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return o, err
	}
	if fields == nil {
		body = nil
	}
	request, err := http.NewRequestWithContext(ctx, method, string(a)+path, bytes.NewReader(body))
	if err != nil {
		return o, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(asAccount, account)
	if method == http.MethodPut {
		request.Header.Set("If-Match", "*") // it creates nothing
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return o, err
	}
	err = json.NewDecoder(response.Body).Decode(&o)
	if closed := response.Body.Close(); err == nil {
		err = closed
	}
	if err == nil && (response.StatusCode == http.StatusServiceUnavailable || o.Outcome == message.Errored) {
		return message.Outcome{}, &fault.UnavailableError{Detail: o.Detail}
	}
	return o, err
}
