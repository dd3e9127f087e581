package input

import (
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	Auto   Format = "auto" // detected from the first line
	NDJSON Format = "ndjson"
	CSV    Format = "csv"
)

// ParseFormat returns the format of a name. The error is a *fault.InvalidError for the field
// "format".
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Auto, NDJSON, CSV:
		return f, nil
	default:
		return "", &fault.InvalidError{Field: "format", Value: s, Want: "auto, ndjson or csv"}
	}
}

// OtherColumns says how to treat the columns of a CSV file without a field.
type OtherColumns string

// The treatments.
const (
	RefuseColumns  OtherColumns = "refuse"   // the file is refused
	IgnoreColumns  OtherColumns = "ignore"   // they are not read
	KeepAsMetadata OtherColumns = "metadata" // each is an entry of metadata
)

// ParseOtherColumns returns the treatment of a name. The error is a *fault.InvalidError for the
// field "other_columns".
func ParseOtherColumns(s string) (OtherColumns, error) {
	switch o := OtherColumns(s); o {
	case RefuseColumns, IgnoreColumns, KeepAsMetadata:
		return o, nil
	default:
		return "", &fault.InvalidError{Field: "other_columns", Value: s, Want: "refuse, ignore or metadata"}
	}
}

// Options say how a file is read.
type Options struct {
	Format Format // Auto if empty
	// FilledIn are required columns that a CSV file may lack, since each line gets them.
	FilledIn []string
	// Columns has a CSV file's own names of columns, by field.
	Columns map[string]string
	Others  OtherColumns // RefuseColumns if empty
	// Placeholders accepts users and ids that look like an export's placeholder for a missing value.
	Placeholders bool
	AllowEmpty   bool // accepts a file that has no lines
	// Flags allows errors to name flags of the command line, which set these options.
	Flags bool
}

// ParseColumns reads entries FIELD=COLUMN for Options.Columns. The error is a *fault.InvalidError
// for the field "column".
func ParseColumns(entries []string) (map[string]string, error) {
	columns := make(map[string]string, len(entries))
	for _, entry := range entries {
		field, column, ok := strings.Cut(entry, "=")
		if _, twice := columns[field]; !ok || twice || field == "" || column == "" {
			return nil, &fault.InvalidError{Field: "column", Value: entry, Want: "FIELD=COLUMN, once for a field, such as user=external_id"}
		}
		columns[field] = column
	}
	return columns, nil
}
