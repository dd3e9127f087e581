package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/sendlimit/sendlimiter/message"
)

// MessageChange is a change of a message. Nil fields stay unchanged.
type MessageChange struct {
	SendAt     *time.Time // a zero time means now
	OnConflict string     // OnConflictShift or OnConflictRefuse, the default; with SendAt
	ShiftUntil time.Time  // zero means the API's default; with OnConflictShift
	Local      LocalTimes // as in Message, in place of SendAt, ShiftUntil and ExpiresAt

	Title, Body *string // "" removes it; one of them must remain
	// Data and Metadata have entries to set, nil to remove an entry. ClearData and ClearMetadata
	// remove all entries, and can't be combined with them.
	Data, Metadata           map[string]*string
	ClearData, ClearMetadata bool

	Image, ClickURL, Sound, Priority, CollapseKey *string // "" removes it

	Badge      *int
	ClearBadge bool // takes no Badge
	// Channels has a JSON merge patch for fcm, apns and webpush each; nil removes a channel's
	// settings. ClearChannels removes all, and can't be combined with Channels.
	Channels      map[string]json.RawMessage
	ClearChannels bool
	// To has members of a Target to set, nil to remove one. ClearTo sends to all of the user's
	// devices, and can't be combined with To.
	To      map[string]*string
	ClearTo bool

	ExpiresAt *time.Time // a zero time means the default
}

// MarshalJSON writes the change as a JSON merge patch.
func (c MessageChange) MarshalJSON() ([]byte, error) {
	patch := make(map[string]any)
	if c.SendAt != nil {
		patch["send_at"] = spellSendAt(*c.SendAt, c.SendAt.IsZero())
	}
	for name, set := range map[string]bool{"clock_strict": c.Local.Strict, "follow_zone": c.Local.FollowZone} {
		if set {
			patch[name] = true
		}
	}
	for name, text := range map[string]string{"on_conflict": c.OnConflict, "shift_until": spell(c.ShiftUntil)} {
		if text != "" {
			patch[name] = text
		}
	}
	for name, text := range map[string]*string{
		"title": c.Title, "body": c.Body, "image": c.Image, "click_url": c.ClickURL, "sound": c.Sound, "priority": c.Priority,
		"collapse_key": c.CollapseKey,
	} {
		if text != nil {
			patch[name] = orNull(*text)
		}
	}
	if c.ExpiresAt != nil {
		patch["expires_at"] = orNull(spell(*c.ExpiresAt))
	}
	for name, entries := range map[string]map[string]*string{"data": c.Data, "metadata": c.Metadata, "to": c.To} {
		if len(entries) > 0 {
			patch[name] = entries
		}
	}
	if c.Badge != nil {
		patch["badge"] = *c.Badge
	}
	if len(c.Channels) > 0 {
		patch["channels"] = c.Channels
	}
	for name, cleared := range map[string]bool{
		"data": c.ClearData, "metadata": c.ClearMetadata, "badge": c.ClearBadge, "channels": c.ClearChannels, "to": c.ClearTo,
	} {
		if cleared {
			patch[name] = nil
		}
	}
	for name, local := range map[string]LocalTime{
		"send_at": c.Local.SendAt, "shift_until": c.Local.ShiftUntil, "expires_at": c.Local.ExpiresAt,
	} {
		if local != (LocalTime{}) {
			patch[name] = when("", local)
		}
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode the change: %w", err)
	}
	return text, nil
}

// orNull returns a text, or null for an empty one.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// Change changes a message's send time, content and expiry until it is being sent. If the new time
// is refused, nothing is changed. Without SendAt, the message keeps its place, and MovedFrom is
// zero.
func (c *Client) Change(ctx context.Context, user, id string, change MessageChange) (Outcome, error) {
	what := call{
		doing: "change a message", method: http.MethodPatch, path: "/v1/users/{user}/messages/{id}", segments: []string{user, id},
		body: change, success: message.Changed,
	}
	if change.SendAt != nil || change.Local.SendAt != (LocalTime{}) {
		what.doing, what.success = "move a message", message.Moved
	}
	return value[Outcome](ctx, c, what)
}
