package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/activity"
)

// functions are what templates call.
func functions(a assets) template.FuncMap {
	return template.FuncMap{
		"asset": a.path,
		"num":   func(n any) string { return number(n) },
		"when":  timeElement, "iso": iso, "clock": clock, "local": local, "ago": ago, "length": length,
		"userURL":    func(name string) string { return withQuery("/user", url.Values{"name": {name}}) },
		"messageURL": func(user, id string) string { return withQuery("/message", url.Values{"user": {user}, "id": {id}}) },
		"url":        link,
		"title":      titled,
		"sentence":   sentence,
		"join":       strings.Join,
		"percent":    percent,
		"dict":       dict,
		"total":      func(counts map[string]int64) string { return number(activity.Total(counts)) },
		"hourAfter": func(from int64, n int) template.HTML {
			return timeElement(time.Unix(from, 0).Add(time.Duration(n) * time.Hour))
		},
		"lateness": func(ms *int64) string { return length(*ms) },
		"ref":      ref,
		"waits":    pending,
		"ms":       func(value any) int64 { return timeOf(value).UnixMilli() },
		"minus":    func(a float64, b int) float64 { return a - float64(b) },
		"plus":     func(a float64, b int) float64 { return a + float64(b) },
		"hours":    hoursOfDay,
		"short":    short,
		"mb":       func(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 },
		"clip":     clip,
		"lines":    func(list []string) string { return strings.Join(list, "\n") },
	}
}

// link returns a path with a query of names and values in turn. It leaves out empty values.
func link(path string, pairs ...any) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if value := text(pairs[i+1]); value != "" {
			query.Set(text(pairs[i]), value)
		}
	}
	return withQuery(path, query)
}

func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case time.Time:
		if v.IsZero() {
			return ""
		}
		return v.UTC().Format(time.RFC3339Nano)
	case message.Time:
		return text(v.Time)
	default:
		return ""
	}
}

// dict returns a map of names and values in turn, for several values of a part of a page.
func dict(pairs ...any) map[string]any {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok {
			m[name] = pairs[i+1]
		}
	}
	return m
}

// number returns a whole number with commas between the thousands.
func number(n any) string {
	var v int64
	switch n := n.(type) {
	case int:
		v = int64(n)
	case int64:
		v = n
	case *int64:
		if n == nil {
			return ""
		}
		v = *n
	case float64:
		v = int64(math.Round(n))
	default:
		return ""
	}
	return strings.Replace(humanize.Comma(v), "-", "−", 1)
}

// timeOf returns a time of any type in answers; zero for none.
func timeOf(value any) time.Time {
	switch v := value.(type) {
	case time.Time:
		return v
	case message.Time:
		return v.Time
	case *message.Time:
		if v != nil {
			return v.Time
		}
	}
	return time.Time{}
}

// when formats a time for a person, with its zone; "" for none.
func when(value any) string {
	at := timeOf(value)
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(layoutOf(at) + " UTC")
}

// timeElement returns a time for a page, "" for none. Scripts show it in the reader's zone.
func timeElement(value any) template.HTML {
	text := when(value)
	if text == "" {
		return ""
	}
	return template.HTML(`<time datetime="` + iso(value) + `">` + text + `</time>`) // both are digits and signs
}

// layoutOf returns the layout for a time, without fractions of a second if it has none.
func layoutOf(at time.Time) string {
	if at.Nanosecond() == 0 {
		return "2006-01-02 15:04:05"
	}
	return "2006-01-02 15:04:05.000"
}

// iso formats a time for machines; "" for none.
func iso(value any) string {
	at := timeOf(value)
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(message.TimeLayout)
}

// clock returns the time of day of a time in UTC.
func clock(value any) string {
	at := timeOf(value)
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("15:04")
}

// local returns a time for an input of a form, in UTC.
func local(value any) string {
	at := timeOf(value)
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05")
}

// ago formats how long before or after now a time is.
func ago(now, value any) string {
	from, at := timeOf(now), timeOf(value)
	if at.IsZero() {
		return ""
	}
	if d := from.Sub(at); d >= 0 {
		return length(d) + " ago"
	}
	return "in " + length(at.Sub(from))
}

// length formats a duration for a person, with its two largest units, and never negative.
func length(value any) string {
	var d time.Duration
	switch v := value.(type) {
	case time.Duration:
		d = v
	case float64:
		d = time.Duration(v * float64(time.Second))
	case int64:
		d = time.Duration(v) * time.Millisecond
	}
	d = max(d, 0)
	const day = 24 * time.Hour
	two := func(large time.Duration, name string, small time.Duration, smaller string) string {
		first, second := d/large, d%large/small
		if second == 0 {
			return strconv.FormatInt(int64(first), 10) + " " + name
		}
		return strconv.FormatInt(int64(first), 10) + " " + name + " " + strconv.FormatInt(int64(second), 10) + " " + smaller
	}
	switch {
	case d >= day:
		return two(day, "d", time.Hour, "h")
	case d >= time.Hour:
		return two(time.Hour, "h", time.Minute, "min")
	case d >= time.Minute:
		return two(time.Minute, "min", time.Second, "s")
	case d >= 10*time.Second:
		return strconv.FormatInt(int64(d/time.Second), 10) + " s"
	case d >= time.Second:
		return strconv.FormatFloat(float64(d/(100*time.Millisecond))/10, 'f', -1, 64) + " s"
	default:
		return strconv.FormatInt(int64(d/time.Millisecond), 10) + " ms"
	}
}

// percent returns how much of a limit is used, 0 to 100.
func percent(used, limit any) int {
	u, l := float(used), float(limit)
	if l <= 0 {
		return 0
	}
	return int(math.Min(100, math.Max(0, math.Round(100*u/l))))
}

func float(n any) float64 {
	switch n := n.(type) {
	case int:
		return float64(n)
	case int64:
		return float64(n)
	case float64:
		return n
	default:
		return 0
	}
}

// titled returns a word such as dead_letters as a label: "Dead letters".
func titled(word string) string {
	word = strings.ReplaceAll(word, "_", " ")
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// hoursOfDay returns the hours of a day as labels.
func hoursOfDay() []string {
	hours := make([]string, 24)
	for i := range hours {
		hours[i] = fmt.Sprintf("%02d", i)
	}
	return hours
}

// short returns a count in at most five characters: 12.3k for 12,345.
func short(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return strconv.FormatFloat(float64(n/100)/10, 'f', -1, 64) + "k"
	default:
		return strconv.FormatFloat(float64(n/100_000)/10, 'f', -1, 64) + "M"
	}
}
