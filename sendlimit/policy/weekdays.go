package policy

import (
	"slices"
	"strings"
)

// weekdays is a set of days of the week: bit 0 is Monday, bit 6 Sunday.
type weekdays uint8

const everyDay weekdays = 1<<7 - 1

var weekdayNames = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"} //nolint:globals // a constant table

// has reports whether a day is in the set; 0 is Monday.
func (w weekdays) has(day int) bool { return w&(1<<day) != 0 }

// parseWeekdays reads days and ranges of days, separated by commas: "sat,sun", "mon-fri", or
// "fri-mon" over the end of the week. It returns 0 for anything else.
func parseWeekdays(s string) weekdays {
	var set weekdays
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from := slices.Index(weekdayNames, first)
		until := from
		if isRange {
			until = slices.Index(weekdayNames, last)
		}
		if from < 0 || until < 0 {
			return 0
		}
		for day := from; ; day = (day + 1) % 7 {
			set |= 1 << day
			if day == until {
				break
			}
		}
	}
	return set
}

// String returns the set as parseWeekdays reads it. Three or more days in a row are a range, which
// may extend over the end of the week.
func (w weekdays) String() string {
	if w == everyDay {
		return "mon-sun"
	}
	begin := 0
	if w.has(6) && w.has(0) && (w.has(5) || w.has(1)) { // a range over the end of the week
		begin = 6
		for w.has(begin - 1) {
			begin--
		}
	}
	var words []string
	for i := 0; i < 7; i++ {
		if !w.has((begin + i) % 7) {
			continue
		}
		row := 1
		for i+row < 7 && w.has((begin+i+row)%7) {
			row++
		}
		if row > 2 {
			words = append(words, weekdayNames[(begin+i)%7]+"-"+weekdayNames[(begin+i+row-1)%7])
		} else {
			for k := range row {
				words = append(words, weekdayNames[(begin+i+k)%7])
			}
		}
		i += row
	}
	return strings.Join(words, ",")
}
