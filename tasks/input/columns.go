package input

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Prefixes of the names of columns with one entry of data or metadata.
const (
	dataPrefix     = "data."
	metadataPrefix = "metadata."
)

// zoneColumn is the column with the time zone of the line's local times.
const zoneColumn = "time_zone"

// columns finds the fields of a header's columns.
type columns struct {
	known   []string // the fields, as they are spelled
	entries bool     // there are fields data.KEY and metadata.KEY as well
	options Options
}

// resolve returns the fields of the columns with these names, "" for a column that is ignored. The
// error is a *fault.InvalidError.
func (c columns) resolve(names []string) ([]string, error) {
	for _, field := range slices.Sorted(maps.Keys(c.options.Columns)) {
		column := c.options.Columns[field]
		if !slices.Contains(c.known, field) && !c.isEntry(field) {
			return nil, fault.Wrong("column", "--column %s=%s: there is no field %q; there are %s", field, column, field, c.list())
		}
		if !slices.ContainsFunc(names, func(name string) bool { return fold(name) == fold(column) }) {
			return nil, fault.Wrong("column", "--column %s=%s: the header has no column %q: it is %s", field, column, column, headerOf(names))
		}
	}
	fields := make([]string, len(names))
	for i, name := range names {
		field, known := c.field(name)
		switch {
		case known:
		case c.options.Others == IgnoreColumns:
			field = ""
		case c.options.Others == KeepAsMetadata && c.entries && c.isEntry(metadataPrefix+name):
			field = metadataPrefix + name
		default:
			return nil, c.unknown(name)
		}
		if field != "" && slices.Contains(fields[:i], field) {
			return nil, fault.Wrong("header", "the header has the column %s twice", field)
		}
		fields[i] = field
	}
	return fields, nil
}

// field returns the field of a column. Case, spaces and hyphens in its name do not matter.
func (c columns) field(name string) (field string, known bool) {
	for field, column := range c.options.Columns {
		if fold(name) == fold(column) {
			return field, true
		}
	}
	for _, field := range c.known {
		if _, renamed := c.options.Columns[field]; !renamed && fold(name) == fold(field) {
			return field, true
		}
	}
	prefix, key, _ := strings.Cut(name, ".")
	entry := strings.ToLower(prefix) + "." + key
	return entry, c.isEntry(entry)
}

// isEntry reports whether a field is an entry of data or metadata.
func (c columns) isEntry(field string) bool {
	key, data := strings.CutPrefix(field, dataPrefix)
	if !data {
		var metadata bool
		if key, metadata = strings.CutPrefix(field, metadataPrefix); !metadata {
			return false
		}
	}
	return c.entries && key != "" && utf8.ValidString(key)
}

// unknown returns the error about a column without a field.
func (c columns) unknown(name string) error {
	valid := strings.ToValidUTF8(fault.Clip(name), "�")
	hint := ""
	switch {
	case c.options.Flags && c.entries:
		hint = "; --column FIELD=COLUMN reads a column as a field, and --other-columns ignore or metadata takes the others"
	case c.options.Flags:
		hint = "; --column FIELD=COLUMN reads a column as a field, and --other-columns ignore skips the others"
	}
	return fault.Wrong("header", "unknown column %q in the header: there are %s (without a header, write a JSON object a line)%s", valid, c.list(), hint)
}

// list spells the fields.
func (c columns) list() string {
	if c.entries {
		return strings.Join(c.known, ", ") + ", data.KEY and metadata.KEY"
	}
	return strings.Join(c.known, ", ")
}

// fold returns the same text for all names of a column.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '_' || r == '-' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// headerOf spells the names of columns.
func headerOf(names []string) string {
	return strings.ToValidUTF8(fault.Clip(strings.Join(names, ",")), "�")
}

// needed returns an error about the first required field that is missing.
func needed(names, fields, filledIn []string) error {
	has := func(name string) bool { return slices.Contains(fields, name) || slices.Contains(filledIn, name) }
	missing := func(want string) error {
		return fault.Wrong("header", "the header has no %s: it is %s", want, headerOf(names))
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

// draftColumns returns the fields of a message that a column may have.
func draftColumns() []string {
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
	return append(names, zoneColumn)
}
