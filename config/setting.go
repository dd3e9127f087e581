package config

import (
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// setting is one row of the table of settings: its name, what it accepts, and where its
// value is stored.
type setting struct {
	key     string  // as in the file, a dot before an inner name
	written *string // in the written of this load
	// standard is the default, as it would be written; empty for none.
	standard string
	// kind and help are shown with the flag; a setting without kind has no flag.
	kind, help string
	// accept stores a value in the Config. Otherwise it returns what is allowed in
	// Want, and in Value the part that is wrong if it is only a part.
	accept func(string) *fault.InvalidError
	// show returns a rejected value as it may be shown; nil means unchanged.
	show func(string) string
	// shared is set if the setting is a flag of every command of enqueue.
	shared bool
	// callers is set if the setting is a flag of such a program only.
	callers bool
	// list is set if the setting can be a list in the file.
	list bool
	// group is the heading of the flag in the help.
	group string
	// words are all values that accept accepts; nil if there are too many.
	words []string

	source string // where the value was given: "--prefix"; empty for nowhere
}

// variable returns the setting's name in the environment.
func (s *setting) variable() string {
	if s.key == "redis_url" {
		return "REDIS_URL"
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// flag returns the setting's flag, without the dashes.
func (s *setting) flag() string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(s.key)
}

// give stores a value and its source. An empty value does not replace that of an earlier
// source.
func (s *setting) give(value, source string) {
	if value != "" {
		*s.written, s.source = value, source
	}
}

// parse stores the value, or else the default, in the Config. It returns what is wrong with
// it, or nil.
func (s *setting) parse() *fault.InvalidError {
	value := *s.written
	if value == "" {
		value = s.standard
	}
	if value == "" {
		return nil
	}
	problem := s.accept(value)
	if problem == nil {
		return nil
	}
	problem.Field = s.key
	if problem.Value == "" {
		problem.Value = value
	}
	if s.show != nil {
		problem.Value = s.show(value)
	}
	if s.source != "" {
		return problem.Noting(" (given by " + s.source + ")")
	}
	return problem
}
