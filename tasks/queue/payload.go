package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

// The types of tasks.
const (
	TypeDeliver = "push:deliver" // delivers a message
	TypeAlert   = "quota:alert"  // announces a notice: an alert, a digest or a report
)

// The versions of payloads that this program writes. It reads up to batchVersion.
const (
	PayloadVersion = 1
	batchVersion   = 2
	alertVersion   = 1
)

// Payload is the payload of the delivery task of one message. It identifies the message; the
// content is in the record. The generation is also the id of the task.
type Payload struct {
	Version    int    `json:"v,omitempty"` // absent in a batch
	User       string `json:"user"`
	ID         string `json:"id"`
	Generation string `json:"generation"`
	// Due is when the task is due, Unix ms. The handler waits until then, as the queue
	// only knows whole seconds. The gate judges by the record.
	Due int64 `json:"due"`
	// Account and Campaign are those of the message, "" for none.
	Account  string `json:"account,omitempty"`
	Campaign string `json:"campaign,omitempty"`
}

// batchPayload is the payload of the delivery task of several messages. The task has its own id.
type batchPayload struct {
	Version  int       `json:"v"`
	Messages []Payload `json:"messages"`
}

func (p Payload) queued() sendlimit.Timer {
	return sendlimit.Timer{
		User: p.User, ID: p.ID, Generation: p.Generation, Due: time.UnixMilli(p.Due).UTC(),
		Origin: sendlimit.Origin{Account: p.Account, Campaign: p.Campaign},
	}
}

// payloadFor returns the payload of a task for messages, in the oldest version that can hold it.
func payloadFor(batch []sendlimit.Timer) any {
	timers := make([]Payload, len(batch))
	for i, m := range batch {
		timers[i] = Payload{
			User: m.User, ID: m.ID, Generation: m.Generation, Due: m.Due.UnixMilli(),
			Account: m.Origin.Account, Campaign: m.Origin.Campaign,
		}
	}
	if len(timers) == 1 {
		timers[0].Version = PayloadVersion
		return timers[0]
	}
	return batchPayload{Version: batchVersion, Messages: timers}
}

// AlertPayload is the payload of a notice's task: its id. The content is in the outbox.
type AlertPayload struct {
	Version int    `json:"v"`
	Notice  string `json:"notice"`
}

// decodePayload reads the timers of a delivery task. If a newer program wrote it, newer is true
// and nothing else is read.
func decodePayload(text []byte) (timers []sendlimit.Timer, newer bool, failed error) {
	const what = "payload of a task"
	var one Payload
	version, err := decode(text, what, PayloadVersion, &one)
	switch {
	case err != nil:
		return nil, false, err
	case version == PayloadVersion:
		return []sendlimit.Timer{one.queued()}, false, nil
	case version > batchVersion:
		return nil, true, nil
	}
	var batch batchPayload
	if _, err = decode(text, what, batchVersion, &batch); err != nil {
		return nil, false, err
	}
	if len(batch.Messages) == 0 {
		return nil, false, errors.New(what + ": it has no messages")
	}
	for _, one := range batch.Messages {
		timers = append(timers, one.queued())
	}
	return timers, false, nil
}

// decodeAlert reads the payload of a notice's task, or only the version if a newer program wrote it.
func decodeAlert(text []byte) (p AlertPayload, err error) {
	p.Version, err = decode(text, "payload of an alert", alertVersion, &p)
	return p, err
}

// decode reads a payload, unless its version is above newest, and returns the version. Errors name
// the payload as what.
func decode(text []byte, what string, newest int, payload any) (version int, err error) {
	var head struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	switch {
	case head.Version < 1:
		return 0, errors.New(what + ": it has no version")
	case head.Version > newest:
		return head.Version, nil
	}
	if err := json.Unmarshal(text, payload); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return head.Version, nil
}

// timersOf reads the timers of a payload of any type and version. That of a notice has no message,
// and the user only if the notice is about one. An invalid payload has no timers.
func timersOf(payload []byte) []Payload {
	var p struct {
		Payload

		Messages []Payload `json:"messages"`
		Notice   string    `json:"notice"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return nil
	}
	if len(p.Messages) > 0 {
		return p.Messages
	}
	if notice, ok := notices.ParseID(p.Notice); ok && notice.Kind == notices.UserQuota {
		p.User = notice.Subject
	}
	return []Payload{p.Payload}
}
