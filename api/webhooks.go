package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notice"
)

// webhooks documents what workers post to contacts that are https: URLs.
func (s *server) webhooks() map[string]*huma.PathItem {
	header := func(name, description string, required bool) *huma.Param {
		return &huma.Param{
			Name: name, In: "header", Description: description, Required: required, Schema: &huma.Schema{Type: huma.TypeString},
		}
	}
	return map[string]*huma.PathItem{"delivery": s.deliveryWebhook(header), "events": s.eventsWebhook(header), "notice": {Post: &huma.Operation{
		OperationID: "notice", Method: http.MethodPost, Tags: []string{"accounts"},
		Security: []map[string][]string{}, // the receiver needs no key
		Summary:  "An alert, a digest or a daily report for a contact",
		Description: "A worker posts this to a contact that is an https: URL: at a threshold of a daily quota or of an event's limit, " +
			"hourly to a policy's alert_to, and once a day as a report. It is signed as in Standard Webhooks if alert_secret is set. " +
			"Redirects are not followed.",
		Parameters: []*huma.Param{
			header("webhook-id", "The same at every attempt: a second copy can be recognized by it.", true),
			header("webhook-timestamp", "When this attempt was made, in Unix seconds.", true),
			header("webhook-signature", `"v1," and an HMAC-SHA256 in base64, if there is a secret.`, false),
			header("Idempotency-Key", "The same as webhook-id.", true),
		},
		RequestBody: jsonBody[notice.Notice](s),
		Responses: map[string]*huma.Response{
			"2XX": {Description: "Delivered. The body is ignored."},
			"4XX": {Description: "Never tried again, except for 408, 425 and 429."},
			"5XX": {Description: "Tried again, after Retry-After if there is one, for as long as alert_retry_for says."},
		},
	}}}
}

// eventsWebhook documents what workers post to the callbacks of accounts.
func (s *server) eventsWebhook(header func(name, description string, required bool) *huma.Param) *huma.PathItem {
	most := &huma.Schema{Type: huma.TypeArray, Items: schemaOf[message.Event](s), MinItems: new(1), MaxItems: new(maxPosted)}
	return &huma.PathItem{Post: &huma.Operation{
		OperationID: "events", Method: http.MethodPost, Tags: []string{"events"},
		Security: []map[string][]string{}, // the receiver needs no key
		Summary:  "What became of an account's messages",
		Description: "A worker posts this to the callback of an account: up to 100 CloudEvents, the oldest first. A request that is not " +
			"answered with 2xx is repeated until it is, later each time, from 1 second to 10 minutes apart, and then the next events " +
			"follow; what was tried for events_give_up is a dead event. Each event comes at least once, and those of a message come in the " +
			"order of its changes: skip an event whose `id` you have had. Redirects are not followed. An answer should come within seconds.\n\n" +
			"To verify it, take the HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, with a full stop between them, under the key " +
			"that is the base64 after `whsec_`, and compare it, in base64, with what follows `v1,` in `webhook-signature`, as the libraries of " +
			"Standard Webhooks do. Refuse a timestamp that is more than five minutes away.",
		Parameters: []*huma.Param{
			header("webhook-id", "The same at every attempt with the same events.", true),
			header("webhook-timestamp", "When this attempt was made, in Unix seconds.", true),
			header("webhook-signature", `"v1," and an HMAC-SHA256 in base64; while the secret is rotated there are two, with a space between them.`, true),
			header("Idempotency-Key", "The same as webhook-id.", true),
		},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{eventBatch: {Schema: most}}},
		Responses: map[string]*huma.Response{
			"2XX": {Description: "The events are accepted. The body is ignored."},
			"4XX": {Description: "Tried again, after Retry-After if that comes with 408, 425 or 429, up to an hour."},
			"5XX": {Description: "Tried again, after Retry-After if there is one, up to an hour."},
		},
	}}
}

// eventBatch is the media type of a batch of CloudEvents.
const eventBatch = "application/cloudevents-batch+json"

// maxPosted is how many events a request to a callback has at most.
const maxPosted = 100

// The names of the schemas of notices.
const (
	noticeSchema    = "Notice"
	deadAlertSchema = "DeadAlert" // of one that could not be delivered
)

// noticeKinds returns the kinds of notices. More may be added.
func noticeKinds() []string {
	var kinds []string
	for _, kind := range notice.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return kinds
}
