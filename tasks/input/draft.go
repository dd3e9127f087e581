package input

import (
	"strings"

	"github.com/sendlimit/sendlimiter/message"
)

// column writes a field of a record into a draft. An empty field is not set.
type column func(d *message.Draft, text string)

// columnOf returns the column of a field; that of "" does nothing.
func columnOf(field string) column {
	if field == "" || field == zoneColumn {
		return func(*message.Draft, string) {}
	}
	if key, ok := strings.CutPrefix(field, dataPrefix); ok {
		return entryColumn(key, func(d *message.Draft) *map[string]string { return &d.Data })
	}
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		return entryColumn(key, func(d *message.Draft) *map[string]string { return &d.Metadata })
	}
	if set, ok := map[string]func(*message.Draft, string){"badge": (*message.Draft).SetBadge, "channels": (*message.Draft).SetChannels, "clock_strict": (*message.Draft).SetClockStrict, "follow_zone": (*message.Draft).SetFollowZone}[field]; ok {
		return unlessEmpty(set)
	}
	if member, ok := map[string]func(*message.Target) *string{
		"to.channel": func(t *message.Target) *string { return &t.Channel },
		"to.app":     func(t *message.Target) *string { return &t.App },
		"to.device":  func(t *message.Target) *string { return &t.Device },
	}[field]; ok {
		return unlessEmpty(func(d *message.Draft, text string) {
			if d.To == nil {
				d.To = &message.Target{}
			}
			*member(d.To) = text
		})
	}
	if member, ok := map[string]func(*message.WindowDraft) *string{
		"window.from":   func(w *message.WindowDraft) *string { return &w.From.Text },
		"window.until":  func(w *message.WindowDraft) *string { return &w.Until.Text },
		"window.prefer": func(w *message.WindowDraft) *string { return (*string)(&w.Prefer) },
	}[field]; ok {
		return unlessEmpty(func(d *message.Draft, text string) {
			if d.Window == nil {
				d.Window = &message.WindowDraft{}
			}
			*member(d.Window) = text
		})
	}
	member := map[string]func(*message.Draft) *string{
		"id":           func(d *message.Draft) *string { return &d.ID },
		"user":         func(d *message.Draft) *string { return &d.User },
		"send_at":      func(d *message.Draft) *string { return &d.SendAt.Text },
		"category":     func(d *message.Draft) *string { return &d.Category },
		"title":        func(d *message.Draft) *string { return &d.Title },
		"body":         func(d *message.Draft) *string { return &d.Body },
		"image":        func(d *message.Draft) *string { return &d.Image },
		"click_url":    func(d *message.Draft) *string { return &d.ClickURL },
		"sound":        func(d *message.Draft) *string { return &d.Sound },
		"priority":     func(d *message.Draft) *string { return &d.Priority },
		"collapse_key": func(d *message.Draft) *string { return &d.CollapseKey },
		"campaign":     func(d *message.Draft) *string { return &d.Campaign },
		"expires_at":   func(d *message.Draft) *string { return &d.ExpiresAt.Text },
		"on_conflict":  func(d *message.Draft) *string { return &d.OnConflict },
		"late":         func(d *message.Draft) *string { return &d.Late },
		"shift_until":  func(d *message.Draft) *string { return &d.ShiftUntil.Text },
	}[field]
	return func(d *message.Draft, text string) { *member(d) = text }
}

// unlessEmpty returns a column that leaves the draft as it is if the field is empty.
func unlessEmpty(set column) column {
	return func(d *message.Draft, text string) {
		if text != "" {
			set(d, text)
		}
	}
}

func entryColumn(key string, of func(*message.Draft) *map[string]string) column {
	return unlessEmpty(func(d *message.Draft, text string) {
		entries := of(d)
		if *entries == nil {
			*entries = make(map[string]string)
		}
		(*entries)[key] = text
	})
}
