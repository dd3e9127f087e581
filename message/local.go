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
	// Strict refuses a time that clocks skip or show twice.
	Strict bool
}

// ResolvedLocal says how a local time became an instant.
type ResolvedLocal struct {
	Time  string         `json:"time" doc:"The local time that was asked for."`
	Asked string         `json:"asked" doc:"The zone that was asked for: user, or an IANA name."`
	Zone  string         `json:"zone" doc:"The IANA name of the zone in which it was read."`
	Clock calendar.Clock `json:"clock,omitempty" doc:"skipped, if clocks are put forward over the time: then a later time is meant, as far behind the gap as the time would be into it. repeated, if clocks are put back and show it twice: then the first one is meant. Absent if clocks show it once."`
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
	for _, w := range []*When{&d.SendAt, &d.ExpiresAt, &d.ShiftUntil} {
		if w.Zone == "" && needsZone(w.Text) {
			w.Zone = word
		}
	}
}

// Of reports whether a time is in the user's zone.
func (l *LocalTimes) ofUser() bool {
	return l.SendAt.Zone == ZoneUser || l.ExpiresAt.Zone == ZoneUser || l.ShiftUntil.Zone == ZoneUser
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
	return &ResolvedLocal{Time: local.Local, Asked: local.Zone, Zone: zone.String(), Clock: clock}
}

// asked returns the message as it was asked for, without the instants of its local times.
func (m Message) asked() Message {
	if m.Local == nil {
		return m
	}
	for _, t := range []struct {
		local LocalTime
		at    *time.Time
	}{{m.Local.SendAt, &m.SendAt}, {m.Local.ExpiresAt, &m.ExpiresAt}, {m.Local.ShiftUntil, &m.ShiftUntil}} {
		if t.local != (LocalTime{}) {
			*t.at = time.Time{}
		}
	}
	return m
}

// EncodeLocal returns how a send time was read for a record: at most 64 bytes, "" for nil.
func EncodeLocal(r *ResolvedLocal) string {
	if r == nil {
		return ""
	}
	asked := "z"
	if r.Asked == ZoneUser {
		asked = "u"
	}
	return strings.Join([]string{asked, r.Time, r.Zone, string(r.Clock)}, " ")
}

// DecodeLocal reads what EncodeLocal wrote; nil for "" and for a text of a newer program.
func DecodeLocal(text string) *ResolvedLocal {
	part := strings.Split(text, " ")
	if len(part) != 4 {
		return nil
	}
	asked := part[2]
	if part[0] == "u" {
		asked = ZoneUser
	}
	return &ResolvedLocal{Time: part[1], Asked: asked, Zone: part[2], Clock: calendar.Clock(part[3])}
}
