package config

import (
	"strings"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// setting is one row of the table of settings. Its variable, its flag and its name in the file
// follow from the key.
type setting struct {
	accepts

	key string // as in the file; a dot separates nested names
	// standard is the default as written; empty for none.
	standard string
	help     string // shown with the flag
	group    string // the heading of the flag in the help

	written string // the value as written; empty for none
	source  string // the source of the value, such as "--prefix"; empty for none
}

func row(key, standard string, a accepts, help string) *setting {
	return &setting{key: key, standard: standard, accepts: a, help: help}
}

// isFlagOf reports whether the setting is a flag of the program. Commands have the flags of the
// store and the API; a worker has all others except account.
func (s *setting) isFlagOf(program Program) bool {
	if program == Commands {
		return s.kind != "" && (s.group == groupStore || s.group == GroupCommands)
	}
	return s.kind != "" && s.key != "account" && s.group != GroupCommands
}

// variable returns the name in the environment.
func (s *setting) variable() string {
	if s.key == "redis_url" {
		return "REDIS_URL"
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// flag returns the flag without dashes.
func (s *setting) flag() string {
	return strings.NewReplacer("_", "-", ".", "-").Replace(s.key)
}

// give stores a value and its source. An empty value does not replace one from an earlier source.
func (s *setting) give(value, source string) {
	if value != "" {
		s.written, s.source = value, source
	}
}

// parse stores the value, or else the default, in the Config. It returns the problem, or nil.
func (s *setting) parse() *fault.InvalidError {
	value := s.written
	if value == "" {
		value = s.standard
	}
	if value == "" {
		return nil
	}
	problem := s.store(value)
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
