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

// Payload is what a delivery task carries: whose timer it is, and no content,
// which lives in the record. Its generation is also the id of its task.
type Payload struct {
	Version    int    `json:"v"`
	User       string `json:"user"`
	ID         string `json:"id"`
	Generation string `json:"generation"`
	// Due is when the task wants to run, Unix ms. It tells the handler how long to
	// wait, as the queue knows whole seconds only. The gate judges by the record.
	Due int64 `json:"due"`
}

// DueAt is Due as a time.
func (p Payload) DueAt() time.Time { return time.UnixMilli(p.Due).UTC() }

// AlertPayload is what the task of a notice carries: its id, and no content,
// which lives in the outbox.
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

// payloadOfUser reads what a payload of any type and version says of its user.
// The user of a quota alert is in the notice's id. A payload that is not ours
// gives the zero value.
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
