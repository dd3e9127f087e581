package message

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is a time.Time whose JSON is in UTC with milliseconds.
type Time struct{ time.Time }

// TimeLayout is the layout of a Time.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// SpelledTime returns a time in TimeLayout; "" for the zero time.
func SpelledTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(TimeLayout)
}

// MarshalText writes the time in TimeLayout.
func (t Time) MarshalText() ([]byte, error) {
	return t.UTC().AppendFormat(make([]byte, 0, len(TimeLayout)), TimeLayout), nil
}

// MarshalJSON writes the time in TimeLayout, in quotes.
func (t Time) MarshalJSON() ([]byte, error) {
	const quoted = `"` + TimeLayout + `"`
	return t.UTC().AppendFormat(make([]byte, 0, len(quoted)), quoted), nil
}

// UnmarshalJSON reads an RFC 3339 time.
func (t *Time) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &t.Time); err != nil {
		return fmt.Errorf("time of an outcome: %w", err)
	}
	t.Time = t.UTC()
	return nil
}
