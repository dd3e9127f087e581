package client

import (
	"fmt"
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// VerifyWebhook checks the Standard Webhooks signature of a delivery, a callback or an alert from a
// worker. The secret begins with "whsec_". A timestamp more than five minutes away is refused, so
// that nobody can send the request again later. Within that time, store the webhook-id headers of
// the requests that you handled. While a secret is rotated, there are two signatures, and one must
// match.
//
// body is the body as it arrived: JSON that was decoded and encoded again has another signature.
func VerifyWebhook(secret string, header http.Header, body []byte) error {
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return fmt.Errorf("the secret is not valid: it is whsec_ and base64: %w", err)
	}
	if err := webhook.Verify(body, header); err != nil {
		return fmt.Errorf("the webhook is not verified: %w", err)
	}
	return nil
}
