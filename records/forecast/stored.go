package forecast

import (
	"encoding/json"
	"time"
)

// stored is the JSON of a near count and the later hours.
type stored struct {
	At      int64        `json:"at"`   // Unix ms
	Took    int64        `json:"took"` // µs
	Overdue int          `json:"o"`
	Pending int          `json:"p"`
	Minutes []int        `json:"m"`
	Hours   []int        `json:"h"`
	Heat    []storedHour `json:"heat"`
	Later   *storedLater `json:"later,omitempty"` // nil if they were not counted
}

// storedLater is the JSON of a Later.
type storedLater struct {
	At   int64        `json:"at"`   // Unix ms
	Took int64        `json:"took"` // µs
	Heat []storedHour `json:"heat"`
}

// storedHour is the number of an hour since 1970, and its messages.
type storedHour [2]int64

func encode(near Forecast, later Later) []byte {
	s := stored{
		At: near.At.UnixMilli(), Took: near.Took.Microseconds(), Overdue: near.Overdue, Pending: near.Pending,
		Minutes: near.Minutes, Hours: near.Hours, Heat: encodeHours(near.Heat),
	}
	if !later.At.IsZero() {
		s.Later = &storedLater{At: later.At.UnixMilli(), Took: later.Took.Microseconds(), Heat: encodeHours(later.Hours)}
	}
	text, _ := json.Marshal(s) // never fails: they are numbers
	return text
}

func encodeHours(hours []HourCount) []storedHour {
	list := make([]storedHour, len(hours))
	for i, h := range hours {
		list[i] = storedHour{h.Start.UnixMilli() / time.Hour.Milliseconds(), int64(h.Count)}
	}
	return list
}

func decode(text []byte) (near Forecast, later Later, err error) {
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return Forecast{}, Later{}, err
	}
	near = Forecast{
		At: decodeTime(s.At), Took: time.Duration(s.Took) * time.Microsecond, Overdue: s.Overdue, Pending: s.Pending,
		Minutes: s.Minutes, Hours: s.Hours, Heat: decodeHours(s.Heat),
	}
	if l := s.Later; l != nil {
		later = Later{At: decodeTime(l.At), Took: time.Duration(l.Took) * time.Microsecond, Hours: decodeHours(l.Heat)}
	}
	return near, later, nil
}

func decodeTime(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func decodeHours(list []storedHour) (hours []HourCount) {
	for _, h := range list {
		hours = append(hours, HourCount{decodeTime(h[0] * time.Hour.Milliseconds()), int(h[1])})
	}
	return hours
}
