package config

import (
	"io"
	"reflect"

	"github.com/goccy/go-yaml/token"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// StandardInput is the name of standard input in the place of a file.
const StandardInput = "-"

// ReadPolicy reads a policy.Document from a YAML or JSON file, or from stdin if the file is
// StandardInput. If the file has no name for the policy, name is used. A version in it is the
// one that the store must have to be replaced, 0 for any. The error is an *Error with
// everything that is wrong and its line.
func ReadPolicy(file string, stdin io.Reader, name string) (policy.Policy, error) {
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
	p, err := read.Policy()
	r.judge("", err)
	if problems := r.problems(); len(problems) > 0 {
		return policy.Policy{}, &Error{Rejected: problems}
	}
	return p, nil
}
