package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ofPolicy accepts a field of a policy; set puts it into a document. Errors about calendars are
// left to the check of the file.
func ofPolicy(kind string, into *policy.Document, set func(*policy.Document, string)) accepts {
	return accepts{kind: kind, store: func(s string) *fault.InvalidError {
		alone := policy.Document{Calendars: into.Calendars}
		set(&alone, s)
		_, err := completed(alone).Policy()
		for _, problem := range invalids(err) {
			if !strings.HasPrefix(problem.Field, "calendars") {
				return problem
			}
		}
		set(into, s)
		return nil
	}}
}

// completed adds the required name and rules to a document.
func completed(d policy.Document) policy.Document {
	d.Name = nobody
	if d.Rules == nil {
		d.Rules = policy.Default().Document().Rules
	}
	return d
}

func hourLines(s string) []string {
	lines, _ := quietLines(words(s))
	return lines
}

// quietLines joins quiet hours that were split at the commas between days: a word that has only
// days belongs to the next one. It also returns the index of the last word of each line.
func quietLines(words []string) (lines []string, last []int) {
	days := ""
	for i, word := range words {
		if !strings.ContainsAny(word, "0123456789: ") {
			days += word + ","
			continue
		}
		lines, last, days = append(lines, days+word), append(last, i), ""
	}
	if days != "" {
		lines, last = append(lines, strings.TrimSuffix(days, ",")), append(last, len(words)-1)
	}
	return lines, last
}

// alertAt accepts percents, or emptyList for none. The default stays nil in the policy.
func alertAt(into *policy.Document) accepts {
	a := listed(ofPolicy("percents", into, func(d *policy.Document, s string) {
		percents := []int{}
		for _, word := range words(s) {
			percent, _ := strconv.Atoi(word) // 0, which is rejected, if it is no number
			percents = append(percents, percent)
		}
		if !slices.Equal(percents, policy.DefaultAlertAt()) {
			d.AlertAt = percents
		}
	}))
	judge := a.store
	a.store = func(s string) *fault.InvalidError {
		problem := judge(s)
		if problem != nil {
			return takes("%s", problem.Want)
		}
		return nil
	}
	return a
}
