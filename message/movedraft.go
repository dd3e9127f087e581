package message

import (
	"cmp"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Move is a new send time for a message.
type Move struct {
	At  time.Time // the send time; ignored with Now
	Now bool      // as soon as possible
	// OnConflict is OnConflictShift to use the next free time if the time is not free;
	// OnConflictRefuse or "" leaves the message where it is. The user's policy does not decide
	// this: a message that has a time must not move by surprise.
	OnConflict string
	// ShiftUntil is the last time that a shift may choose; zero means DefaultShift after the
	// requested time. It requires OnConflictShift.
	ShiftUntil time.Time
}

// Validate checks the fields. The error is a *fault.InvalidError, or fault.InvalidErrors for
// several.
func (m Move) Validate() error { return Patch{Move: &m}.Validate() }

// Patch changes the send time of a message, its content, or both.
type Patch struct {
	Move *Move // nil for none
	Edit Edit
	// Local has the times of Move and Edit that are local times; nil for none.
	Local *LocalTimes
}

// asMessage returns a message with the times of the patch.
func (p Patch) asMessage() Message {
	times := Message{Now: p.Move == nil, OnConflict: OnConflictRefuse, Local: p.Local}
	if m := p.Move; m != nil {
		times.SendAt, times.Now, times.ShiftUntil = m.At, m.Now, m.ShiftUntil
		times.OnConflict = cmp.Or(m.OnConflict, OnConflictRefuse)
	}
	if p.Edit.ExpiresAt != nil {
		times.ExpiresAt = *p.Edit.ExpiresAt
	}
	return times
}

// InZoneOfUser reports whether a time is in the user's zone.
func (p Patch) InZoneOfUser() bool { return p.Local != nil && p.Local.ofUser() }

// Resolve is Message.Resolve for the times of a patch.
func (p Patch) Resolve(zones Zones) (Patch, *ResolvedLocal, error) {
	m, read, err := p.asMessage().Resolve(zones)
	if p.Move != nil {
		move := *p.Move
		move.At, move.ShiftUntil = m.SendAt, m.ShiftUntil
		p.Move = &move
	}
	if p.Edit.ExpiresAt != nil {
		p.Edit.ExpiresAt = &m.ExpiresAt
	}
	return p, read, err
}

// Validate checks the times. The content is checked when the present content is known. The error is
// as that of Move.Validate.
func (p Patch) Validate() error {
	var wrong fault.InvalidErrors
	p.asMessage().validateTimes(&wrong)
	return wrong.Err()
}

// MoveDraft is the request to move or change a message, a JSON merge patch (RFC 7396): an absent
// field stays unchanged, and null removes it. It needs SendAt unless it edits something.
type MoveDraft struct {
	SendAt      When               `json:"send_at,omitzero" doc:"The new send time: RFC 3339 with zone, a local time, or now. Required unless there is something else to change."`
	OnConflict  string             `json:"on_conflict,omitempty" doc:"What to do if the new time is not free: refuse, so that the message keeps the old one, or shift it to the next free time. By default refuse."`
	ShiftUntil  When               `json:"shift_until,omitzero" doc:"RFC 3339, or a local time: the last time that a shift may choose. By default a day after send_at. Only with on_conflict shift."`
	FollowZone  bool               `json:"follow_zone,omitempty" doc:"Keep the new local time when the user's own time zone changes, as in a submit. A move without it ends that."`
	ClockStrict bool               `json:"clock_strict,omitempty" doc:"Refuse a local time that clocks skip or show twice, as in a submit."`
	Title       *string            `json:"title,omitempty" doc:"The new title; null for none. Title, body and data have at most 4,096 bytes together. Title or body must remain."`
	Body        *string            `json:"body,omitempty" doc:"The new body; null for none."`
	Data        map[string]*string `json:"data,omitempty" doc:"Entries of data to set, or with null to remove; null instead of an object removes all."`
	PushDraft
	Metadata  map[string]*string `json:"metadata,omitempty" doc:"Entries of metadata to set, or with null to remove; null instead of an object removes all."`
	ExpiresAt *When              `json:"expires_at,omitempty" doc:"RFC 3339 or a local time, after the send time: a message that is not sent by then is dropped. null for a day after send_at."`

	moves, edits bool     // it has send_at, or one of the fields from title on, even if that is empty
	nulls        []string // the fields that are null
	faults       *Faults  // as in Draft
}

// EditFields returns the names of the fields of a MoveDraft that can be null: those that change
// content, metadata or expiry.
func EditFields() []string {
	return []string{
		"title", "body", "data", "image", "click_url", "badge", "sound", "priority", "collapse_key", "channels", "to",
		"metadata", "expires_at",
	}
}

// DecodeMove reads a MoveDraft from a JSON object. MoveDraft.Patch reports wrong fields.
func DecodeMove(text []byte) (MoveDraft, error) {
	fields, err := fieldsOf(text)
	if err != nil {
		return MoveDraft{}, err
	}
	isNull := func(name string) bool { return string(fields[name]) == "null" }
	_, moves := fields["send_at"]
	edits := false
	var nulls []string
	for _, name := range EditFields() {
		_, given := fields[name]
		edits = edits || given
		if isNull(name) {
			nulls = append(nulls, name)
		}
	}
	d, faults, err := DecodeMembers[MoveDraft](fields)
	if err != nil {
		return MoveDraft{}, notAnObject(err)
	}
	texts := map[string]**string{
		"title": &d.Title, "body": &d.Body, "image": &d.Image, "click_url": &d.ClickURL,
		"sound": &d.Sound, "priority": &d.Priority, "collapse_key": &d.CollapseKey,
	}
	for _, name := range nulls {
		if text, ok := texts[name]; ok {
			*text = new(string)
		}
		if name == "expires_at" {
			d.ExpiresAt = new(When)
		}
	}
	faults.checkTarget(d.To)
	faults.checkChannels(d.Channels)
	d.moves, d.edits, d.nulls, d.faults = moves, edits, nulls, &faults
	return d, nil
}

// clears reports whether a field is null.
func (d MoveDraft) clears(field string) bool { return slices.Contains(d.nulls, field) }

// Patch returns the draft as a Patch, with times read by parse. The error is a *fault.InvalidError,
// or fault.InvalidErrors for several fields.
func (d MoveDraft) Patch(parse TimeParser) (Patch, error) {
	p := Patch{Edit: Edit{
		Title: d.Title, Body: d.Body, Data: d.Data, Metadata: d.Metadata, PushEdit: PushEdit{PushDraft: d.PushDraft},
		ClearData: d.clears("data"), ClearMetadata: d.clears("metadata"),
	}}
	p.Edit.ClearBadge, p.Edit.ClearChannels, p.Edit.ClearTo = d.clears("badge"), d.clears("channels"), d.clears("to")
	times := Draft{SendAt: d.SendAt, OnConflict: d.OnConflict, ShiftUntil: d.ShiftUntil, FollowZone: d.FollowZone, ClockStrict: d.ClockStrict, faults: d.faults}
	if d.ExpiresAt != nil {
		times.ExpiresAt = *d.ExpiresAt
		p.Edit.ExpiresAt = new(time.Time)
	}
	moves := d.moves || !d.SendAt.IsZero() || d.OnConflict != "" || !d.ShiftUntil.IsZero() || !d.edits && p.Edit.None()
	if !moves {
		times.SendAt.Text = "now" // it is not used
	}
	m, faults := times.parse(parse)
	if d.ExpiresAt != nil {
		*p.Edit.ExpiresAt = m.ExpiresAt
	}
	if moves {
		p.Move = &Move{At: m.SendAt, Now: m.Now, OnConflict: m.OnConflict, ShiftUntil: m.ShiftUntil}
	}
	p.Local = m.Local
	return p, faults.With(p.Validate())
}
