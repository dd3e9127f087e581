package config

import (
	"io"
	"path/filepath"
	"reflect"
	"time"

	"github.com/goccy/go-yaml/token"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// StandardInput is the file name for standard input.
const StandardInput = "-"

// ReadPolicy reads a policy from a YAML or JSON file, or from stdin if the file is StandardInput.
// name is the default for a missing name. A version in the file is the version that the store must
// have; 0 for any. Dates may name a .ics file beside the policy, whose days from today on are used.
// The error is an *Error with every problem and its line.
func ReadPolicy(file string, stdin io.Reader, name string, today time.Time) (policy.Policy, error) {
	r := reader{name: file, at: make(map[string]*token.Token)}
	var data []byte
	var err error
	if file == StandardInput {
		r.name = "standard input"
		data, err = readBounded(stdin)
	} else {
		data, err = readPath(file)
	}
	body, err := document(data, err, "YAML or JSON", "is no policy: write rules and what else there is", nil)
	if err != nil {
		return policy.Policy{}, &Error{Rejected: []*fault.InvalidError{fault.Wrong("file", "%s %v", r.name, err)}}
	}
	read := policy.Document{Name: name}
	if body != nil {
		r.entries("", body, reflect.ValueOf(&read).Elem())
	}
	r.judge("", fillHolidays(&read, filepath.Dir(file), today))
	p, err := read.Policy()
	r.judge("", err)
	if problems := r.problems(); len(problems) > 0 {
		return policy.Policy{}, &Error{Rejected: problems}
	}
	return p, nil
}

// fillHolidays replaces the .ics files in a policy by their dates. The error is
// fault.InvalidErrors.
func fillHolidays(d *policy.Document, folder string, today time.Time) error {
	var wrong fault.InvalidErrors
	fill := func(field string, dates []string) []string {
		filled, err := withHolidays(field, folder, dates, today)
		wrong.Add(err)
		if err != nil {
			return nil
		}
		return filled
	}
	d.Blackouts = fill("blackouts", d.Blackouts)
	for name, dates := range d.Calendars {
		d.Calendars[name] = fill("calendars."+name, dates)
	}
	return wrong.Err()
}
