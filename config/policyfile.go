package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

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
	body, problem := policyBody(file, stdin)
	if problem != nil {
		return policy.Policy{}, &Error{Rejected: []*fault.InvalidError{problem}}
	}
	reader := &fileReader{name: file}
	if file == StandardInput {
		reader.name = "standard input"
	}
	p := reader.policy("", name, body, reader.name)
	if len(reader.problems) > 0 {
		return policy.Policy{}, &Error{Rejected: reader.problems}
	}
	return p, nil
}

// policyBody returns the document of a file, which must have only one.
func policyBody(name string, stdin io.Reader) (ast.Node, *fault.InvalidError) {
	from := name
	if name == StandardInput {
		from = "standard input"
	}
	reject := func(format string, args ...any) (ast.Node, *fault.InvalidError) {
		return nil, fault.Wrong("file", "%s", from+" "+fmt.Sprintf(format, args...))
	}
	read := func() ([]byte, error) { return readPath(name) }
	if name == StandardInput {
		read = func() ([]byte, error) { return readBounded(stdin) }
	}
	data, err := read()
	if err != nil {
		return reject("can't be read: %v", err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return reject("is no valid YAML or JSON: %s", parserProblem(err))
	}
	var body ast.Node
	for _, document := range file.Docs {
		switch {
		case document.Body == nil:
		case body != nil:
			return reject("has several documents: one is allowed")
		default:
			body = document.Body
		}
	}
	switch body.(type) {
	case nil, *ast.NullNode:
		return &ast.NullNode{}, nil
	case *ast.MappingNode:
		return body, nil
	}
	return reject("is no policy: write rules and what else there is, name: value")
}

// parserProblem returns an error of the parser in one line.
func parserProblem(err error) string {
	problem, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return err.Error()
	}
	if at := problem.GetToken(); at != nil && at.Position != nil {
		return fmt.Sprintf("line %d, column %d: %s", at.Position.Line, at.Position.Column, problem.GetMessage())
	}
	return problem.GetMessage()
}

// readPath returns the text of a file.
func readPath(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening it: %w", withoutName(err))
	}
	defer file.Close()
	return readBounded(file)
}

// readBounded returns text of at most maxFile bytes.
func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading it: %w", withoutName(err))
	case len(data) > maxFile:
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	case !utf8.Valid(data):
		return nil, errors.New("it is not UTF-8 text")
	}
	return data, nil
}

// withoutName removes the name of the file from an error, since the message has it.
func withoutName(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
