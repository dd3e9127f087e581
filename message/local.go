package message

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	strict "github.com/go-json-experiment/json"

	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// ZoneUser is the word for the user's own time zone, else that of the user's policy, else UTC.
const ZoneUser = "user"

// LocalTime is a time that clocks show in a time zone. The zero value means none.
type LocalTime struct {
	Local string `json:"local" doc:"What clocks show: YYYY-MM-DDTHH:MM, with or without seconds."`
	Zone  string `json:"zone,omitempty" doc:"user, which is the default: the user's own time zone, else that of the user's policy, else UTC. Or an IANA name such as Europe/Berlin."`
}

// When is a time of a request as text. In JSON it is a text, or a LocalTime if it has a zone.
type When struct {
	Text string // RFC 3339, now, or with a Zone what clocks show
	Zone string // as in LocalTime; "" for none
}

// IsZero reports whether there is no time.
func (w When) IsZero() bool { return w == When{} }

// MarshalJSON writes the text, or an object with the local time and the zone.
func (w When) MarshalJSON() ([]byte, error) {
	var value any = w.Text
	if w.Zone != "" {
		value = LocalTime{Local: w.Text, Zone: w.Zone}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("time: %w", err)
	}
	return text, nil
}

// UnmarshalJSON reads what MarshalJSON writes. An object without a zone has ZoneUser.
func (w *When) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("{")) {
		if err := json.Unmarshal(text, &w.Text); err != nil {
			return fmt.Errorf("time: %w", err)
		}
		return nil
	}
	var local LocalTime
	if err := strict.Unmarshal(text, &local, strict.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("local time: %w", err)
	}
	*w = When{Text: local.Local, Zone: cmp.Or(local.Zone, ZoneUser)}
	return nil
}

// LocalTimes are the times of a message or a move that were asked for as local times. Resolve turns
// them into instants.
type LocalTimes struct {
	SendAt, ExpiresAt, ShiftUntil LocalTime
	From, Until                   LocalTime // the ends of the window
	// Strict refuses a time that clocks skip or show twice.
	Strict bool
	// FollowZone keeps the local SendAt, and a local ExpiresAt in the user's zone, when the user's own
	// zone changes. It needs a SendAt in ZoneUser.
	FollowZone bool
}

// ResolvedLocal says how a local time became an instant.
type ResolvedLocal struct {
	Time  string         `json:"time" doc:"The local time that was asked for."`
	Asked string         `json:"asked" doc:"The zone that was asked for: user, or an IANA name."`
	Zone  string         `json:"zone" doc:"The IANA name of the zone in which it was read."`
	Clock calendar.Clock `json:"clock,omitempty" doc:"skipped, if clocks are put forward over the time: then a later time is meant, as far behind the gap as the time would be into it. repeated, if clocks are put back and show it twice: then the first one is meant. Absent if clocks show it once."`
	// FollowZone is that of LocalTimes.
	FollowZone bool `json:"follow_zone,omitempty" doc:"Whether the message keeps this local time when the user's own zone changes."`

	own     bool   // with FollowZone: the zone is the user's own, and no default
	expires string // with FollowZone: the local expiry; "" for none
}

// OwnZone returns the user's own zone by which a message that follows it was read; "" for none.
func (r *ResolvedLocal) OwnZone() string {
	if !r.own {
		return ""
	}
	return r.Zone
}

// ReadAnew reads a local time that follows the user's zone in another one, which is the user's own or
// a default. expires is the new expiry; zero if the old one stays.
func (r *ResolvedLocal) ReadAnew(zone *time.Location, own bool) (read *ResolvedLocal, at, expires time.Time, err error) {
	times := LocalTimes{SendAt: LocalTime{Local: r.Time, Zone: ZoneUser}, FollowZone: true}
	if r.expires != "" {
		times.ExpiresAt = LocalTime{Local: r.expires, Zone: ZoneUser}
	}
	m, read, err := Message{Local: &times}.Resolve(func(string) (*time.Location, error) { return zone, nil })
	if err != nil {
		return nil, time.Time{}, time.Time{}, err
	}
	return read.Following(own), m.SendAt, m.ExpiresAt, nil
}

// Following returns how a send time was read, in the user's own zone or in a default. It only
// matters for one that follows the zone.
func (r *ResolvedLocal) Following(own bool) *ResolvedLocal {
	if r == nil || !r.FollowZone {
		return r
	}
	read := *r
	read.own = own
	return &read
}

// Zones returns the time zone of ZoneUser or of an IANA name.
type Zones func(word string) (*time.Location, error)

// CheckZone checks the word of a zone. The error is a *fault.InvalidError for the field.
func CheckZone(field, word string) error {
	if word == ZoneUser {
		return nil
	}
	_, err := calendar.ParseTimeZone(word)
	if wrong, is := errors.AsType[*fault.InvalidError](fault.InField(err, field)); is {
		return wrong.Noting(", or " + ZoneUser + " for the user's own")
	}
	return err
}

// local returns the local time of a field. The error is a *fault.InvalidError.
func (w When) local(field string) (LocalTime, error) {
	at, err := calendar.ParseLocalTime(w.Text)
	if err != nil {
		return LocalTime{}, unreadable(field, w.Text, err)
	}
	return LocalTime{Local: at.String(), Zone: w.Zone}, CheckZone(field+".zone", w.Zone)
}

// needsZone reports whether a text is a local time that lacks its zone.
func needsZone(text string) bool {
	_, err := calendar.ParseLocalTime(text)
	return err == nil
}

// SetZone gives each local time that has no zone the given one, a word as in LocalTime; ""
// for none. Message reports a wrong word as an error of the field.
func (d *Draft) SetZone(field, word string) {
	if word == "" {
		return
	}
	if err := CheckZone(field, word); err != nil {
		d.note(err)
		return
	}
	times := []*When{&d.SendAt, &d.ExpiresAt, &d.ShiftUntil}
	if d.Window != nil {
		d.Window = new(*d.Window)
		times = append(times, &d.Window.From, &d.Window.Until)
	}
	for _, w := range times {
		if w.Zone == "" && needsZone(w.Text) {
			w.Zone = word
		}
	}
}

// Of reports whether a time is in the user's zone.
func (l *LocalTimes) ofUser() bool {
	return l.SendAt.Zone == ZoneUser || l.ExpiresAt.Zone == ZoneUser || l.ShiftUntil.Zone == ZoneUser ||
		l.From.Zone == ZoneUser || l.Until.Zone == ZoneUser
}

// InZoneOfUser reports whether a time of the message is in the user's zone.
func (m Message) InZoneOfUser() bool { return m.Local != nil && m.Local.ofUser() }

// Resolve returns the message with its local times as instants, and how the send time was read; nil
// if it is no local time. The error says which times are wrong: a *fault.InvalidError, or
// fault.InvalidErrors for several.
func (m Message) Resolve(zones Zones) (Message, *ResolvedLocal, error) {
	if m.Local == nil {
		return m, nil, nil
	}
	var wrong fault.InvalidErrors
	read := m.Local.resolve("send_at", m.Local.SendAt, zones, &m.SendAt, &wrong)
	m.Local.resolve("expires_at", m.Local.ExpiresAt, zones, &m.ExpiresAt, &wrong)
	m.Local.resolve("shift_until", m.Local.ShiftUntil, zones, &m.ShiftUntil, &wrong)
	if m.Window != nil {
		m.Window = new(*m.Window)
		m.Local.resolve("window.from", m.Local.From, zones, &m.Window.From, &wrong)
		m.Local.resolve("window.until", m.Local.Until, zones, &m.Window.Until, &wrong)
	}
	if wrong == nil {
		m.compareTimes(&wrong)
	}
	return m, read, wrong.Err()
}

// resolve sets the instant of a local time, also if it is wrong. It leaves at as it is without one.
func (l *LocalTimes) resolve(field string, local LocalTime, zones Zones, at *time.Time, wrong *fault.InvalidErrors) *ResolvedLocal {
	if local == (LocalTime{}) {
		return nil
	}
	shown, err := calendar.ParseLocalTime(local.Local)
	if err != nil {
		wrong.Add(unreadable(field, local.Local, err))
		return nil
	}
	zone, err := zones(local.Zone)
	if err != nil {
		wrong.Add(fault.InField(err, field+".zone"))
		return nil
	}
	resolved, clock := shown.In(zone)
	*at = resolved
	if l.Strict && clock != "" {
		_, says := shown.Strictly(zone)
		wrong.Add(fault.Wrong(field, "%s, %s, %s", field, local.Local, says))
	}
	read := &ResolvedLocal{Time: local.Local, Asked: local.Zone, Zone: zone.String(), Clock: clock, FollowZone: l.FollowZone}
	if l.FollowZone && l.ExpiresAt.Zone == ZoneUser {
		read.expires = l.ExpiresAt.Local
	}
	return read
}

// asked returns the message as it was asked for, without the instants of its local times.
func (m Message) asked() Message {
	if m.Local == nil {
		return m
	}
	window := Window{}
	if m.Window != nil {
		window = *m.Window
		m.Window = &window
	}
	for _, t := range []struct {
		local LocalTime
		at    *time.Time
	}{
		{m.Local.SendAt, &m.SendAt},
		{m.Local.ExpiresAt, &m.ExpiresAt},
		{m.Local.ShiftUntil, &m.ShiftUntil},
		{m.Local.From, &window.From},
		{m.Local.Until, &window.Until},
	} {
		if t.local != (LocalTime{}) {
			*t.at = time.Time{}
		}
	}
	return m
}

// validateFollowZone checks that there is a time that can follow the user's zone.
func (m Message) validateFollowZone(wrong *fault.InvalidErrors) {
	if m.Local == nil || !m.Local.FollowZone || m.Window == nil && m.Local.SendAt.Zone == ZoneUser {
		return
	}
	says := `follow_zone needs a send_at that is a local time in the user's zone, such as {"local":"2040-06-22T11:11","zone":"user"}`
	if m.Window != nil {
		says = "follow_zone has no meaning with a window: leave one out"
	}
	wrong.Add(&fault.InvalidError{Field: "follow_zone", Value: "true", Says: says})
}

// EncodeLocal returns how a send time was read for a record, "" for nil. lua/message/claim.lua reads
// the first letter and the zone.
func EncodeLocal(r *ResolvedLocal) string {
	if r == nil {
		return ""
	}
	asked := "z"
	switch {
	case r.own:
		asked = "f"
	case r.FollowZone:
		asked = "d"
	case r.Asked == ZoneUser:
		asked = "u"
	}
	parts := []string{asked, r.Time, r.Zone, string(r.Clock)}
	if r.expires != "" {
		parts = append(parts, r.expires)
	}
	return strings.Join(parts, " ")
}

// DecodeLocal reads what EncodeLocal wrote; nil for "" and for a text of a newer program.
func DecodeLocal(text string) *ResolvedLocal {
	part := strings.Split(text, " ")
	if len(part) != 4 && len(part) != 5 || !strings.Contains("zufd", part[0]) {
		return nil
	}
	r := &ResolvedLocal{
		Time: part[1], Asked: ZoneUser, Zone: part[2], Clock: calendar.Clock(part[3]), FollowZone: part[0] == "f" || part[0] == "d", own: part[0] == "f",
	}
	if part[0] == "z" {
		r.Asked = part[2]
	}
	if len(part) == 5 {
		r.expires = part[4]
	}
	return r
}
