package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/sendlimit/sendlimiter/message"
)

// LocalTime is a time that clocks show in a zone: LocalTime{Local: "2027-06-22T09:00", Zone: "user"}.
type LocalTime = message.LocalTime

// Window asks for a free time from From on and before Until. A zero From means now.
type Window = message.Window

// LocalTimes are the local times of a message or a change.
type LocalTimes = message.LocalTimes

// Message is a push message to a user at a time.
type Message struct {
	ID       string    // idempotency key, unique per user; "" means that Submit sets one
	User     string    // the receiver
	SendAt   time.Time // truncated to the millisecond by the API
	Now      bool      // send as soon as the rules allow; SendAt is ignored
	Category string
	Title    string // Title or Body is required
	Body     string
	Data     map[string]string // for the receiving app

	Image    string // an https URL
	ClickURL string // what a click opens: an absolute URL such as https://example.com/ or myapp://orders/17
	Badge    *int   // the number at the app's icon, from 0; nil leaves it as it is
	Sound    string // at most 64 characters
	Priority string // PriorityHigh or PriorityNormal; "" for the channel's own
	// CollapseKey makes the message replace an earlier one with the same key on the device. It has
	// at most 64 printable ASCII characters.
	CollapseKey string
	// Channels has settings of the providers of fcm, apns and webpush: a JSON object of at most 4
	// KiB each.
	Channels map[string]json.RawMessage
	To       *Target // nil for all of the user's devices

	Campaign string // 1 to 64 of a-z A-Z 0-9 . _ -, or ""
	// Metadata belongs to the caller: at most 8 entries with at most 512 bytes of keys and values.
	// It is sent to the provider, and stays with the status after the end.
	Metadata map[string]string

	ExpiresAt  time.Time // the message is dropped after it; zero means the API's default
	OnConflict string    // "" means what the user's policy says; its default is OnConflictRefuse
	Late       string    // if SendAt has passed: "refuse", "now" or a length of time such as "15m"; "" means what the user's policy says
	ShiftUntil time.Time // the last time that a shift may choose; zero means the API's default

	// Window asks for a free time in a window instead of SendAt; nil for none. With PreferNearest,
	// SendAt is the time to be near to. A zero From means now.
	Window *Window
	// Local has local times in place of SendAt, ExpiresAt, ShiftUntil and the ends of Window: what clocks show in the
	// user's zone, or in another one. The zero value has none.
	Local LocalTimes
}

// encode returns the message as JSON. It returns an *InvalidError for text that is not UTF-8, which
// JSON would replace.
func (m Message) encode() ([]byte, error) {
	for _, of := range [][]string{ // a field, and its texts
		{"id", m.ID},
		{"user", m.User},
		{"category", m.Category},
		{"campaign", m.Campaign},
		{"title", m.Title},
		{"body", m.Body},
		{"on_conflict", m.OnConflict},
		{"late", m.Late},
		{"send_at", m.Local.SendAt.Local, m.Local.SendAt.Zone},
		{"expires_at", m.Local.ExpiresAt.Local, m.Local.ExpiresAt.Zone},
		{"shift_until", m.Local.ShiftUntil.Local, m.Local.ShiftUntil.Zone},
		{"window.from", m.Local.From.Local, m.Local.From.Zone},
		{"window.until", m.Local.Until.Local, m.Local.Until.Zone},
		{"image", m.Image},
		{"click_url", m.ClickURL},
		{"sound", m.Sound},
		{"priority", m.Priority},
		{"collapse_key", m.CollapseKey},
		slices.Concat([]string{"data"}, slices.Collect(maps.Keys(m.Data)), slices.Collect(maps.Values(m.Data))),
		slices.Concat([]string{"metadata"}, slices.Collect(maps.Keys(m.Metadata)), slices.Collect(maps.Values(m.Metadata))),
	} {
		if !utf8.ValidString(strings.Join(of, " ")) {
			return nil, invalid(of[0], "takes UTF-8")
		}
	}
	encoded, err := json.Marshal(message.Draft{
		ID: m.ID, User: m.User, SendAt: when(spellSendAt(m.SendAt, m.Now), m.Local.SendAt), Window: m.window(), Category: m.Category, Title: m.Title, Body: m.Body, Data: m.Data,
		Campaign: m.Campaign, Metadata: m.Metadata, ExpiresAt: when(spell(m.ExpiresAt), m.Local.ExpiresAt), OnConflict: m.OnConflict,
		ShiftUntil: when(spell(m.ShiftUntil), m.Local.ShiftUntil), Late: m.Late, ClockStrict: m.Local.Strict, FollowZone: m.Local.FollowZone,
		PushContent: message.PushContent{
			Image: m.Image, ClickURL: m.ClickURL, Badge: m.Badge, Sound: m.Sound, Priority: m.Priority, CollapseKey: m.CollapseKey,
			Channels: m.Channels, To: m.To,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the message: %w", err)
	}
	return encoded, nil
}

// window returns the window for the API.
func (m Message) window() *message.WindowDraft {
	if m.Window == nil {
		return nil
	}
	return &message.WindowDraft{
		From: when(spell(m.Window.From), m.Local.From), Until: when(spell(m.Window.Until), m.Local.Until), Prefer: m.Window.Prefer,
	}
}

// withID returns the message with an id, a new one if it has none. With an id, a message that is
// submitted twice is accepted once.
func (m Message) withID() (Message, error) {
	if m.ID != "" {
		return m, nil
	}
	id, err := uuid.NewV7()
	if err != nil {
		return m, fmt.Errorf("make an id: %w", err)
	}
	m.ID = id.String()
	return m, nil
}

func spellSendAt(at time.Time, now bool) string {
	if now {
		return "now"
	}
	return spell(at)
}

// when returns a time for the API: the local one, if there is one, or the text.
func when(text string, local LocalTime) message.When {
	if local == (LocalTime{}) {
		return message.When{Text: text}
	}
	return message.When{Text: local.Local, Zone: cmp.Or(local.Zone, message.ZoneUser)}
}

// spell returns a time as text for the API; "" for the zero time.
func spell(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}
