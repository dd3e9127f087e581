package input

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// What begins the name of a column that holds one entry of data or metadata.
const (
	dataPrefix     = "data."
	metadataPrefix = "metadata."
)

// header has the columns of a CSV file.
type header struct {
	columns []column
	records record
}

// column writes a field of a record into a draft. An empty field is not set.
type column func(d *message.Draft, text string)

// parseHeader reads the first line of a CSV file. The error is a
// *fault.InvalidError.
func parseHeader(first line, filledIn []string) (*header, error) {
	if first.long {
		return nil, tooLong()
	}
	h := &header{}
	names, invalid := h.records.split(first.text)
	if invalid != nil {
		return nil, invalid
	}
	for i, name := range names {
		c, known := columnOf(name)
		if !known {
			return nil, &fault.InvalidError{
				Field: "header", Says: fmt.Sprintf("unknown column %q in the header: there are %s, data.KEY and metadata.KEY"+
					" (without a header, write a JSON object a line)",
					strings.ToValidUTF8(fault.Clip(name), "�"), strings.Join(columnNames(), ", ")),
			}
		}
		if slices.Contains(names[:i], name) {
			return nil, fault.Wrong("header", "the header has the column %s twice", name)
		}
		h.columns = append(h.columns, c)
	}
	return h, needed(names, filledIn)
}

// needed returns an error for the first required column that is missing.
func needed(names, filledIn []string) error {
	has := func(name string) bool { return slices.Contains(names, name) || slices.Contains(filledIn, name) }
	missing := func(want string) error {
		return fault.Wrong("header", "the header has no %s: it is %s", want, fault.Clip(strings.Join(names, ",")))
	}
	for _, name := range []string{"user", "send_at"} {
		if !has(name) {
			return missing("column " + name)
		}
	}
	if !has("title") && !has("body") {
		return missing("column title or body, and neither --title nor --body is given for all lines")
	}
	return nil
}

func columnNames() []string {
	var names []string
	for _, name := range message.DraftFields() {
		switch name {
		case "data", "metadata":
		case "to":
			names = append(names, "to.channel", "to.app", "to.device")
		default:
			names = append(names, name)
		}
	}
	return names
}

func columnOf(name string) (column, bool) {
	if key, ok := strings.CutPrefix(name, dataPrefix); ok {
		return entryColumn(key, func(d *message.Draft) *map[string]string { return &d.Data }), key != "" && utf8.ValidString(key)
	}
	if key, ok := strings.CutPrefix(name, metadataPrefix); ok {
		return entryColumn(key, func(d *message.Draft) *map[string]string { return &d.Metadata }), key != "" && utf8.ValidString(key)
	}
	if set, ok := map[string]func(*message.Draft, string){"badge": (*message.Draft).SetBadge, "channels": (*message.Draft).SetChannels}[name]; ok {
		return unlessEmpty(set), true
	}
	if member, ok := map[string]func(*message.Target) *string{
		"to.channel": func(t *message.Target) *string { return &t.Channel },
		"to.app":     func(t *message.Target) *string { return &t.App },
		"to.device":  func(t *message.Target) *string { return &t.Device },
	}[name]; ok {
		return unlessEmpty(func(d *message.Draft, text string) {
			if d.To == nil {
				d.To = &message.Target{}
			}
			*member(d.To) = text
		}), true
	}
	field, known := map[string]func(*message.Draft) *string{
		"id":           func(d *message.Draft) *string { return &d.ID },
		"user":         func(d *message.Draft) *string { return &d.User },
		"send_at":      func(d *message.Draft) *string { return &d.SendAt },
		"category":     func(d *message.Draft) *string { return &d.Category },
		"title":        func(d *message.Draft) *string { return &d.Title },
		"body":         func(d *message.Draft) *string { return &d.Body },
		"image":        func(d *message.Draft) *string { return &d.Image },
		"click_url":    func(d *message.Draft) *string { return &d.ClickURL },
		"sound":        func(d *message.Draft) *string { return &d.Sound },
		"priority":     func(d *message.Draft) *string { return &d.Priority },
		"collapse_key": func(d *message.Draft) *string { return &d.CollapseKey },
		"campaign":     func(d *message.Draft) *string { return &d.Campaign },
		"expires_at":   func(d *message.Draft) *string { return &d.ExpiresAt },
		"on_conflict":  func(d *message.Draft) *string { return &d.OnConflict },
		"shift_until":  func(d *message.Draft) *string { return &d.ShiftUntil },
	}[name]
	return func(d *message.Draft, text string) { *field(d) = text }, known
}

// unlessEmpty returns a column that does nothing for an empty field.
func unlessEmpty(set column) column {
	return func(d *message.Draft, text string) {
		if text != "" {
			set(d, text)
		}
	}
}

// entryColumn returns the column of an entry of a map.
func entryColumn(key string, of func(*message.Draft) *map[string]string) column {
	return unlessEmpty(func(d *message.Draft, text string) {
		entries := of(d)
		if *entries == nil {
			*entries = make(map[string]string)
		}
		(*entries)[key] = text
	})
}

// read reads the text of a record as a draft.
func (h *header) read(text []byte) (message.Draft, *fault.InvalidError) {
	fields, invalid := h.records.split(text)
	if invalid != nil {
		return message.Draft{}, invalid
	}
	if len(fields) != len(h.columns) {
		return message.Draft{}, fault.Wrong("message", "the line has %s, and the header has %s",
			message.Count(len(fields), "field"), message.Count(len(h.columns), "column"))
	}
	var d message.Draft
	for i, text := range fields {
		h.columns[i](&d, text)
	}
	return d, nil
}
