package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// ofPolicy accepts a field of a policy. document returns one with the field as written, and
// set stores what the policy has for it. LogValue has the policy as a whole.
func ofPolicy(kind string, document func(string) policy.Document, set func(policy.Policy)) accepts {
	return accepts{kind: kind, store: func(s string) *fault.InvalidError {
		p, problem := alone(document(s))
		if problem == nil {
			set(p)
		}
		return problem
	}}
}

// alone judges one field of a policy. It returns the policy with that field, and with name
// and rules of its own.
func alone(d policy.Document) (policy.Policy, *fault.InvalidError) {
	policy, err := completed(d).Policy()
	return policy, invalid(err)
}

// completed returns a document with the name and rules that are required.
func completed(d policy.Document) policy.Document {
	d.Name = nobody
	if d.Rules == nil {
		d.Rules = policy.Default().Document().Rules
	}
	return d
}

func timeZone(c *Config) accepts {
	return ofPolicy("zone", func(s string) policy.Document { return policy.Document{TimeZone: s} },
		func(p policy.Policy) { c.Policy.TimeZone = p.TimeZone })
}

func rules(c *Config) accepts {
	return listed(ofPolicy("rules", func(s string) policy.Document {
		return policy.Document{Rules: append([]string{}, words(s)...)} // none are not the default ones
	}, func(p policy.Policy) { c.Policy.Rules = p.Rules }))
}

// lines accepts a list that parse reads, once split has split it.
func lines[T any](kind string, into *T, split func(string) []string, parse func(...string) (T, error)) accepts {
	return listed(read(kind, into, func(s string) (T, *fault.InvalidError) {
		value, err := parse(split(s)...)
		return value, invalid(err)
	}))
}

// hourLines returns the lines of hours as written.
func hourLines(s string) []string {
	lines, _ := quietLines(words(s))
	return lines
}

// quietLines joins lines of quiet hours that were split at the commas between their days:
// words that are only days belong to the next word. It also returns the index of the last
// word of each line.
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

func policyReach(c *Config) accepts {
	return ofPolicy("duration", func(s string) policy.Document { return policy.Document{Reach: s} },
		func(p policy.Policy) { c.Policy.Reach = p.Reach })
}

func accountShare(c *Config) accepts {
	return ofPolicy("percentage", func(s string) policy.Document { return policy.Document{AccountShare: s} },
		func(p policy.Policy) { c.Policy.AccountShare = p.AccountShare })
}

func onConflict(c *Config) accepts {
	a := ofPolicy("answer", func(s string) policy.Document { return policy.Document{OnConflict: s} },
		func(p policy.Policy) { c.Policy.OnConflict = p.OnConflict })
	a.words = []string{"refuse", "shift"}
	return a
}

func unknownCategories(c *Config) accepts {
	return ofPolicy("answer", func(s string) policy.Document { return policy.Document{UnknownCategories: s} },
		func(p policy.Policy) { c.Policy.UnknownCategories = p.UnknownCategories })
}

// alertAt accepts percents, and emptyList for none. A policy has nil for the default.
func alertAt(c *Config) accepts {
	return listed(accepts{kind: "percents", store: func(s string) *fault.InvalidError {
		percents := []int{}
		for _, word := range words(s) {
			percent, err := strconv.Atoi(word)
			if err != nil {
				percent = 0 // which is not allowed
			}
			percents = append(percents, percent)
		}
		if _, problem := alone(policy.Document{AlertAt: percents}); problem != nil {
			return takes("%s", problem.Want)
		}
		if !slices.Equal(percents, policy.DefaultAlertAt()) {
			c.Policy.AlertAt = percents
		}
		return nil
	}})
}

func alertTo(c *Config) accepts {
	return accepts{kind: "contact", store: func(s string) *fault.InvalidError {
		problem := invalid(policy.ValidContact(s))
		if problem == nil {
			c.Policy.AlertTo = s
		}
		return problem
	}}
}
