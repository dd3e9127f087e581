package client

import (
	"fmt"
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// VerifyWebhook checks the signature of a delivery, a callback or a notice that a worker sent, in the
// form of Standard Webhooks. The secret begins with "whsec_". One that is more than five minutes old
// or early is refused, so that nobody sends it again later; keep the header webhook-id of those that
// you handled. While a secret is rotated there are two signatures, and one has to fit.
//
// body is the body as it came: JSON that was read and written again has another signature.
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
