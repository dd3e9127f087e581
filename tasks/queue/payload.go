package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/notices"
)

// The types of tasks.
const (
	TypeDeliver = "push:deliver" // delivers a message
	TypeAlert   = "quota:alert"  // announces a notice: an alert, a digest or a report
)

// The versions of payloads that this program writes, and the newest it reads.
const (
	PayloadVersion = 1
	alertVersion   = 1
)

// Payload is the payload of a delivery task: whose timer it is. The content is in the
// record. The generation is also the id of the task.
type Payload struct {
	Version    int    `json:"v"`
	User       string `json:"user"`
	ID         string `json:"id"`
	Generation string `json:"generation"`
	// Due is when the task is due, Unix ms. The handler waits until then, as the queue
	// only knows whole seconds. The gate judges by the record.
	Due int64 `json:"due"`
}

// DueAt returns Due as a time.
func (p Payload) DueAt() time.Time { return time.UnixMilli(p.Due).UTC() }

// AlertPayload is the payload of a notice's task: its id. The content is in the outbox.
type AlertPayload struct {
	Version int    `json:"v"`
	Notice  string `json:"notice"`
}

// decodePayload reads the payload of a delivery task. If a newer program wrote
// it, only the version is read.
func decodePayload(text []byte) (p Payload, err error) {
	p.Version, err = decode(text, "payload of a task", PayloadVersion, &p)
	return p, err
}

// decodeAlert reads the payload of a notice's task. If a newer program wrote it,
// only the version is read.
func decodeAlert(text []byte) (p AlertPayload, err error) {
	p.Version, err = decode(text, "payload of an alert", alertVersion, &p)
	return p, err
}

// decode reads a payload, unless its version is above newest. It returns the
// version; what names the payload in errors.
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

// payloadOfUser reads what a payload of any type and version says of its user. The user of
// a quota alert is in the notice's id. For an invalid payload it returns the zero value.
func payloadOfUser(payload []byte) Payload {
	var p struct {
		Payload

		Notice string `json:"notice"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return Payload{}
	}
	if notice, ok := notices.ParseID(p.Notice); ok && notice.Kind == notices.UserQuota {
		p.User = notice.Subject
	}
	return p.Payload
}
