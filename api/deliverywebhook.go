package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/notifier/payload"
)

// deliverySchema is the name of the schema of messages, as a webhook gets them.
const deliverySchema = "Delivery"

// deliveryWebhook documents what workers post to push_url.
func (s *server) deliveryWebhook(header func(name, description string, required bool) *huma.Param) *huma.PathItem {
	return &huma.PathItem{Post: &huma.Operation{
		OperationID: "delivery", Method: http.MethodPost, Tags: []string{"messages"},
		Security: []map[string][]string{}, // the receiver needs no key
		Summary:  "A message that is due",
		Description: "A worker posts this to push_url, if that is an http: or https: URL: each message at its time, at least once. " +
			"A receiver that remembers each `webhook-id` for as long as messages are tried again handles each message once. It answers " +
			"within push_timeout. Redirects are not followed. The headers of push_headers are sent too.\n\n" +
			"With push_secret it is signed as in Standard Webhooks. To verify it, take the HMAC-SHA256 of `webhook-id`, `webhook-timestamp` " +
			"and the body, with a full stop between them, under the key that is the base64 after `whsec_`, and compare it, in base64, with " +
			"what follows `v1,` in `webhook-signature`. Refuse a timestamp that is more than five minutes away. Receivers in Go and Python " +
			"are in examples/.",
		Parameters: []*huma.Param{
			header("webhook-id", "The same at every attempt, and different for each message.", true),
			header("webhook-timestamp", "When this attempt was made, in Unix seconds.", true),
			header("webhook-signature", `"v1," and an HMAC-SHA256 in base64, if there is a secret; with two secrets two of these, and a space between.`, false),
			header("Idempotency-Key", "The same as webhook-id.", true),
		},
		RequestBody: jsonBody[payload.Payload](s),
		Responses: map[string]*huma.Response{
			"2XX": {Description: "Delivered. The body is ignored."},
			"3XX": {Description: "Never tried again: the message has failed."},
			"401": {Description: "The worker's secret or headers are refused: every message waits, and no attempt counts. So with 403 and 407."},
			"404": {Description: "Tried again, as 503 is, since a receiver that is being deployed may answer so. So with 410."},
			"429": {Description: "Tried again after Retry-After, and meanwhile no other message is posted."},
			"4XX": {Description: "Never tried again, but for 408 and 425: the message has failed."},
			"5XX": {Description: "Tried again, after Retry-After if there is one, until max_attempts or the message expires."},
		},
	}}
}
