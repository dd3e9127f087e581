package message

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Draft is a message as a caller writes it in a request or in a line of a file, with times as text.
type Draft struct {
	ID       string            `json:"id,omitempty" doc:"Idempotency key, unique per user: 1 to 128 of A-Z a-z 0-9 . _ : - By default the server generates one."`
	User     string            `json:"user" doc:"The receiver: 1 to 256 bytes of UTF-8 without control or invisible characters, and without a space at its ends."`
	SendAt   When              `json:"send_at,omitzero" doc:"The send time: RFC 3339 with zone, cut to the millisecond, or a local time. now means as soon as the rules allow. Required, unless there is a window; beside one it is only for prefer nearest."`
	Window   *WindowDraft      `json:"window,omitempty" doc:"Asks for a free time in a window, instead of a send time."`
	Category string            `json:"category,omitempty" doc:"1 to 64 of a-z 0-9 _ -"`
	Title    string            `json:"title,omitempty" doc:"Title, body and data have at most 4,096 bytes together. Title or body is required."`
	Body     string            `json:"body,omitempty" doc:"See title."`
	Data     map[string]string `json:"data,omitempty" doc:"Texts by name, for the app that shows the message."`
	PushContent
	Campaign    string            `json:"campaign,omitempty" doc:"1 to 64 of a-z A-Z 0-9 . _ - A name in common, to count, list, pause, move and cancel messages together."`
	Metadata    map[string]string `json:"metadata,omitempty" doc:"Texts of the caller by name: at most 8, with at most 512 bytes of names and texts together. A name is 1 to 64 bytes without control characters. They go to the push target, and stay with the status after the message has ended."`
	ExpiresAt   When              `json:"expires_at,omitzero" doc:"RFC 3339, or a local time: a message that is not sent by then is dropped. By default a day after send_at. At most 31 days after the latest send time that is accepted."`
	OnConflict  string            `json:"on_conflict,omitempty" doc:"What to do if send_at is not free: refuse the message, or shift it to the next free time. By default what the user's policy says; with send_at now, shift."`
	Late        string            `json:"late,omitempty" doc:"What to do if send_at has passed: refuse the message with in_past; now, send it now if it passed within a day; or a length of time such as 15m, 1s to 7d, send it now if it passed within that. By default what the user's policy says."`
	ShiftUntil  When              `json:"shift_until,omitzero" doc:"RFC 3339, or a local time: the last time that a shift may choose. By default a day after send_at. Without on_conflict it applies if the user's policy shifts, and has no effect if the policy refuses. With refuse it is not allowed."`
	FollowZone  bool              `json:"follow_zone,omitempty" doc:"Keep the local time, not the instant: when the user's own time zone changes, the message moves to the same local time there, by the rules. Only with a send_at that is a local time in the zone user. A local expires_at in the zone user moves with it."`
	ClockStrict bool              `json:"clock_strict,omitempty" doc:"Refuse a local time that clocks skip or show twice, and name the valid ones. By default a skipped time means a later one, as far behind the gap as it would be into it, and a time that is shown twice means the first."`

	// faults are the problems of the JSON object that was decoded; nil for none. Message returns
	// them.
	faults *Faults
}

// DraftFields returns the names of a Draft's fields in JSON and CSV.
func DraftFields() []string {
	return []string{
		"id", "user", "send_at", "window", "category", "title", "body", "data",
		"image", "click_url", "badge", "sound", "priority", "collapse_key", "channels", "to",
		"campaign", "metadata", "expires_at", "on_conflict", "late", "shift_until", "follow_zone", "clock_strict",
	}
}

// DecodeDraft reads a Draft from a JSON object. The error is a *fault.InvalidError if the text is
// no JSON object. Wrong fields are left out: Draft.Message reports them.
func DecodeDraft(text []byte) (Draft, error) {
	if d, ok := readDraft(text); ok {
		return d, nil
	}
	return decodeFaulty(text)
}

// decodeFaulty reads any draft and notes its wrong fields. It is several times slower than
// readDraft.
func decodeFaulty(text []byte) (Draft, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return Draft{}, err
	}
	if _, several := fields["messages"]; several {
		return Draft{}, fault.Wrong("messages", `this is a list "messages" and no message: write a JSON object for each (jq -c '.messages[]' does that), one a line in a batch or a file`)
	}
	noID := emptyText(fields["id"])
	d, faults, err := DecodeMembers[Draft](fields)
	if err != nil {
		return Draft{}, notAnObject(err)
	}
	if noID { // otherwise a caller would get a new id with each attempt
		faults.addUnread(wrongID(""))
	}
	if faults.None() {
		return d, nil
	}
	if faults.unreadable("body") {
		faults.unread = append(faults.unread, "title") // which may be left out beside a body
	}
	d.faults = &faults
	return d, nil
}

func emptyText(text json.RawMessage) bool { return string(text) == `""` }

// fieldsOf reads a JSON object. It uses a map because names are case sensitive: a struct would
// accept "User" for user.
func fieldsOf(text []byte) (map[string]json.RawMessage, error) {
	if err := CheckJSON(text, "message"); err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, notAnObject(err)
	}
	if fields == nil {
		return nil, fault.Wrong("message", "the message is null: it has to be a JSON object")
	}
	return fields, nil
}

func notAnObject(err error) *fault.InvalidError {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.Wrong("message", "the message is a JSON %s: it has to be a JSON object", wrong.Value)
	}
	return fault.Wrong("message", "the message is no JSON object: %v", err)
}

// TimeParser reads a time of a draft. It reports now for the word "now".
type TimeParser func(text string) (at time.Time, now bool, err error)

// ParseTime is the TimeParser of the API: it accepts "now", and a time with its zone as
// calendar.ParseTime does. The error is a *fault.InvalidError without a field.
func ParseTime(text string) (at time.Time, now bool, err error) { return ParseTimeIn(nil)(text) }

// ParseTimeIn is ParseTime that also accepts local times in a zone; nil allows none.
func ParseTimeIn(zone *time.Location) TimeParser {
	return func(text string) (at time.Time, now bool, err error) {
		if text == "now" {
			return time.Time{}, true, nil
		}
		at, err = calendar.ParseTime(text, zone)
		return at, false, err
	}
}

// Message returns the draft as a Message, with times read by parse. If a field can't be read, the
// error is a *fault.InvalidError, or fault.InvalidErrors with the errors of Message.Validate for
// the other fields. Otherwise call Message.Validate.
func (d Draft) Message(parse TimeParser) (Message, error) {
	return d.read(parse, Message.Validate)
}

// Sent is Message for a message that another system has sent, see Message.ValidateSent.
func (d Draft) Sent(parse TimeParser) (Message, error) {
	return d.read(parse, Message.ValidateSent)
}

func (d Draft) read(parse TimeParser, validate func(Message) error) (Message, error) {
	m, faults := d.parse(parse)
	if faults.None() {
		return m, nil
	}
	return m, faults.With(validate(m))
}

// parse returns the draft as a Message, with the problems of fields that can't be read.
func (d Draft) parse(parse TimeParser) (Message, Faults) {
	m := Message{
		ID: d.ID, User: d.User, Category: d.Category, Title: d.Title, Body: d.Body, Data: d.Data,
		PushContent: d.PushContent, Campaign: d.Campaign, Metadata: d.Metadata, OnConflict: d.OnConflict, Late: d.Late,
	}
	faults := d.faults.clone()
	// Pointers into m would put each message on the heap, so times are returned as values.
	if d.SendAt.Zone == "" && (d.Window == nil || d.SendAt.Text != "") {
		at, now, err := parseSendAt(d.SendAt.Text, parse)
		if err != nil && !faults.unreadable("send_at") {
			faults.addUnread(err)
		}
		m.SendAt, m.Now = at, now
	}
	m.ExpiresAt = faults.parseTime("expires_at", d.ExpiresAt, parse)
	m.ShiftUntil = faults.parseTime("shift_until", d.ShiftUntil, parse)
	var window WindowDraft
	if d.Window != nil {
		if window = *d.Window; window.From.Text == "now" {
			window.From = When{}
		}
		m.Window = &Window{
			From: faults.parseTime("window.from", window.From, parse), Until: faults.parseTime("window.until", window.Until, parse), Prefer: window.Prefer,
		}
	}
	if d.FollowZone || d.SendAt.Zone+d.ExpiresAt.Zone+d.ShiftUntil.Zone+window.From.Zone+window.Until.Zone != "" {
		m.Local = &LocalTimes{
			SendAt: faults.parseLocal("send_at", d.SendAt), ExpiresAt: faults.parseLocal("expires_at", d.ExpiresAt),
			ShiftUntil: faults.parseLocal("shift_until", d.ShiftUntil), From: faults.parseLocal("window.from", window.From),
			Until: faults.parseLocal("window.until", window.Until), Strict: d.ClockStrict,
		}
		m.Local.FollowZone = d.FollowZone && !faults.unreadable("send_at")
	}
	return m, faults
}

// parseLocal returns the local time of a field. It returns the zero value for another time, and for
// one that can't be read, which it notes.
func (f *Faults) parseLocal(field string, w When) LocalTime {
	if w.Zone == "" {
		return LocalTime{}
	}
	local, err := w.local(field)
	f.AddUnread(err)
	return local
}

func parseSendAt(text string, parse TimeParser) (at time.Time, now bool, wrong *fault.InvalidError) {
	if text == "" {
		return time.Time{}, false, missingSendAt()
	}
	at, now, err := parse(text)
	if err != nil {
		return time.Time{}, false, unreadable("send_at", text, err)
	}
	return at, now, nil
}

// parseTime returns the time of an optional field. It returns the zero time for a missing field,
// and for one that can't be read, which it notes.
func (f *Faults) parseTime(field string, w When, parse TimeParser) time.Time {
	if w.Text == "" || w.Zone != "" {
		return time.Time{}
	}
	at, now, err := parse(w.Text)
	if err == nil && now {
		err = &fault.InvalidError{Want: calendar.WantTime}
	}
	if err != nil {
		f.addUnread(unreadable(field, w.Text, err))
		return time.Time{}
	}
	return at
}

func missingSendAt() *fault.InvalidError {
	return fault.Wrong("send_at", "send_at is required: an RFC 3339 time such as 2040-06-22T11:11:11Z, or now")
}

func unreadable(field, value string, err error) *fault.InvalidError {
	if wrong, ok := errors.AsType[*fault.InvalidError](err); ok {
		return &fault.InvalidError{Field: field, Value: value, Want: wrong.Want, Says: wrong.Says}
	}
	return &fault.InvalidError{Field: field, Value: value, Want: err.Error()}
}

// SetBadge sets the badge from text. Message reports an error in it.
func (d *Draft) SetBadge(text string) {
	badge, err := ParseBadge(text)
	d.Badge = badge
	d.note(err)
}

// SetClockStrict sets clock_strict from true or false. Message reports an error in it.
func (d *Draft) SetClockStrict(text string) { d.ClockStrict = d.readFlag("clock_strict", text) }

// SetFollowZone sets follow_zone from true or false. Message reports an error in it.
func (d *Draft) SetFollowZone(text string) { d.FollowZone = d.readFlag("follow_zone", text) }

func (d *Draft) readFlag(field, text string) bool {
	if text != "true" && text != "false" {
		d.note(NotAllowed(field, text, "true or false"))
	}
	return text == "true"
}

// SetChannels sets the channels from a JSON object. Message reports an error in it.
func (d *Draft) SetChannels(text string) {
	channels, err := ParseChannels(text)
	d.Channels = channels
	d.note(err)
}

// note notes the error of a field that can't be read; it ignores nil.
func (d *Draft) note(err error) {
	if err == nil {
		return
	}
	faults := d.faults.clone()
	faults.AddUnread(err)
	d.faults = &faults
}
