package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier/notice"
	"github.com/sendlimit/sendlimiter/notifier/payload"
)

// toVerify documents how to verify a signature of Standard Webhooks.
const toVerify = "To verify it, take the HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, with a full stop between them, under the key " +
	"that is the base64 after `whsec_`, and compare it, in base64, with what follows `v1,` in `webhook-signature`"

type webhook struct {
	id, tag, summary, about string
	same                    string // what has the same webhook-id
	signature               string
	signed                  bool // always
	body                    *huma.RequestBody
	answers                 map[string]string // what an answer does, by its status
}

// webhooks documents the requests of workers: to push_url, to contacts that are https: URLs, and to
// the callbacks of accounts.
func (s *server) webhooks() map[string]*huma.PathItem {
	most := &huma.Schema{Type: huma.TypeArray, Items: schemaOf[message.Event](s), MinItems: new(1), MaxItems: new(maxPosted)}
	all := make(map[string]*huma.PathItem)
	for _, hook := range []webhook{{
		id: "delivery", tag: "messages", summary: "A message that is due",
		about: "A worker posts this to push_url, if that is an http: or https: URL: each message at its time, at least once. " +
			"A receiver that remembers each `webhook-id` as long as messages are retried handles each message once. It must answer " +
			"within push_timeout. Redirects are not followed. The headers of push_headers are sent too.\n\n" +
			"With push_secret it is signed as in Standard Webhooks. " + toVerify +
			". Refuse a timestamp that is more than five minutes away. Receivers in Go and Python " +
			"are in examples/.",
		same:      "The same at every attempt, and different for each message.",
		signature: `"v1," and an HMAC-SHA256 in base64, if there is a secret; with two secrets two of these, and a space between.`,
		body:      jsonBody[payload.Payload](s),
		answers: map[string]string{
			"2XX": "Delivered. The body is ignored.",
			"3XX": "Never tried again: the message has failed.",
			"401": "The worker's secret or headers are refused: all messages wait, and no attempt counts. The same with 403 and 407.",
			"404": "Tried again like 503, since a receiver may answer so during a deployment. The same with 410.",
			"429": "Tried again after Retry-After, and meanwhile no other message is posted.",
			"4XX": "Never tried again, except for 408 and 425: the message has failed.",
			"5XX": "Tried again, after Retry-After if there is one, until max_attempts or the message expires.",
		},
	}, {
		id: "notice", tag: "accounts", summary: "An alert, a digest or a daily report for a contact",
		about: "A worker posts this to a contact that is an https: URL: at a threshold of a daily quota or of an event's limit, " +
			"hourly to a policy's alert_to, and once a day as a report. It is signed as in Standard Webhooks if alert_secret is set. " +
			"Redirects are not followed.",
		same:      "The same at every attempt: a second copy can be recognized by it.",
		signature: `"v1," and an HMAC-SHA256 in base64, if there is a secret.`,
		body:      jsonBody[notice.Notice](s),
		answers: map[string]string{
			"2XX": "Delivered. The body is ignored.",
			"4XX": "Never tried again, except for 408, 425 and 429.",
			"5XX": "Tried again, after Retry-After if there is one, for alert_retry_for.",
		},
	}, {
		id: "events", tag: "events", summary: "Events of an account's messages",
		about: "A worker posts this to the callback of an account: up to 100 CloudEvents, the oldest first. A request that is not " +
			"answered with 2xx is repeated until it is, later each time, from 1 second to 10 minutes apart, and then the next events " +
			"follow; an event older than events_give_up is a dead event. Each event comes at least once, and a message's events in the " +
			"order of its changes: skip events with a known `id`. Redirects are not followed. An answer should come within seconds.\n\n" + toVerify + ", as the libraries of " +
			"Standard Webhooks do. Refuse a timestamp that is more than five minutes away.",
		same:      "The same at every attempt with the same events.",
		signature: `"v1," and an HMAC-SHA256 in base64; while the secret is rotated there are two, with a space between them.`,
		signed:    true,
		body:      &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{eventBatch: {Schema: most}}},
		answers: map[string]string{
			"2XX": "The events are accepted. The body is ignored.",
			"4XX": "Tried again, after Retry-After if that comes with 408, 425 or 429, up to an hour.",
			"5XX": "Tried again, after Retry-After if there is one, up to an hour.",
		},
	}} {
		all[hook.id] = hook.document()
	}
	return all
}

func (hook webhook) document() *huma.PathItem {
	header := func(name, description string, required bool) *huma.Param {
		return &huma.Param{
			Name: name, In: "header", Description: description, Required: required, Schema: &huma.Schema{Type: huma.TypeString},
		}
	}
	responses := make(map[string]*huma.Response)
	for status, does := range hook.answers {
		responses[status] = &huma.Response{Description: does}
	}
	return &huma.PathItem{Post: &huma.Operation{
		OperationID: hook.id, Method: http.MethodPost, Tags: []string{hook.tag},
		Security: []map[string][]string{}, // the receiver needs no key
		Summary:  hook.summary, Description: hook.about,
		Parameters: []*huma.Param{
			header("webhook-id", hook.same, true),
			header("webhook-timestamp", "When this attempt was made, in Unix seconds.", true),
			header("webhook-signature", hook.signature, hook.signed),
			header("Idempotency-Key", "The same as webhook-id.", true),
		},
		RequestBody: hook.body, Responses: responses,
	}}
}

// deliverySchema is the name of the schema of messages in webhooks.
const deliverySchema = "Delivery"

// eventBatch is the media type of a batch of CloudEvents.
const eventBatch = "application/cloudevents-batch+json"

// maxPosted is the largest number of events in a request to a callback.
const maxPosted = 100

// The names of the schemas of alerts.
const (
	noticeSchema    = "Notice"
	deadAlertSchema = "DeadAlert" // of one that could not be delivered
)

// noticeKinds returns the kinds of alerts. More may be added.
func noticeKinds() []string {
	var kinds []string
	for _, kind := range notice.Kinds() {
		kinds = append(kinds, string(kind))
	}
	return kinds
}
