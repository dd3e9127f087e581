package client_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// A request that was not signed with the secret, unchanged and recently, is refused.
func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	const secret, other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	signed := func(secret string, at time.Time, body string) http.Header {
		signer, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		signature, err := signer.Sign("msg_1", at, []byte(body))
		require.NoError(t, err)
		return http.Header{
			http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookID):        {"msg_1"},
			http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookTimestamp): {strconv.FormatInt(at.Unix(), 10)},
			http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookSignature): {signature},
		}
	}
	now := time.Now()
	require.NoError(t, client.VerifyWebhook(secret, signed(secret, now, `{"a":1}`), []byte(`{"a":1}`)))
	both := signed(secret, now, `{}`)
	both.Set("webhook-signature", signed(other, now, `{}`).Get("webhook-signature")+" "+both.Get("webhook-signature"))
	require.NoError(t, client.VerifyWebhook(secret, both, []byte(`{}`)), "while the secret is rotated")

	require.Error(t, client.VerifyWebhook(other, signed(secret, now, `{}`), []byte(`{}`)))
	require.Error(t, client.VerifyWebhook(secret, signed(secret, now, `{}`), []byte(`{ }`)))
	require.Error(t, client.VerifyWebhook(secret, signed(secret, now.Add(-6*time.Minute), `{}`), []byte(`{}`)))
	require.Error(t, client.VerifyWebhook(secret, signed(secret, now.Add(6*time.Minute), `{}`), []byte(`{}`)))
	require.Error(t, client.VerifyWebhook(secret, http.Header{}, []byte(`{}`)))
	require.ErrorContains(t, client.VerifyWebhook("whsec_#", signed(secret, now, `{}`), []byte(`{}`)), "the secret is not valid")
}
