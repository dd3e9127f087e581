package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile is the maximum size of a file in bytes. It ends the read of a device given by mistake.
const maxFile = 1 << 20

// document parses text in a language such as YAML and returns its mapping; nil if it is empty.
// advice is the error for a text without a mapping. Errors quote only words that known reports; nil
// means all.
func document(data []byte, err error, language, advice string, known func(string) bool) (*ast.MappingNode, error) {
	if err != nil {
		return nil, fmt.Errorf("can't be read: %w", err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, fmt.Errorf("is no valid %s: %s", language, syntaxProblem(err, known))
	}
	var found *ast.MappingNode
	for _, document := range file.Docs {
		switch body := document.Body.(type) {
		case nil, *ast.NullNode:
		case *ast.MappingNode:
			if found != nil {
				return nil, errors.New("has several documents: one is allowed")
			}
			found = body
		default:
			return nil, errors.New(advice + ", name: value")
		}
	}
	return found, nil
}

// syntaxProblem describes a syntax error in one line.
func syntaxProblem(err error, known func(string) bool) string {
	problem, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return "it can't be parsed"
	}
	message := regexp.MustCompile(`"[^"]*"?`).ReplaceAllStringFunc(problem.GetMessage(), func(quoted string) string {
		if known == nil || known(strings.Trim(quoted, `"`)) {
			return quoted
		}
		return `"…"`
	})
	if known != nil && strings.Contains(message, "mapping value is not allowed") { // the parser's message for push_url: log:
		message += `; a value with a colon at its end goes in quotes, such as "log:"`
	}
	if at := problem.GetToken(); at != nil && at.Position != nil {
		return fmt.Sprintf("line %d, column %d: %s", at.Position.Line, at.Position.Column, message)
	}
	return message
}

func readPath(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening it: %w", withoutName(err))
	}
	defer file.Close()
	return readBounded(file)
}

const byteOrderMark = "\ufeff"

// readBounded reads text of at most maxFile bytes, and removes a byte order mark.
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
	return bytes.TrimPrefix(data, []byte(byteOrderMark)), nil
}

// withoutName removes the file name from an error, since the caller names it.
func withoutName(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// scalar returns a plain value as written: 0123 stays 0123, which is an octal number in YAML.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return "", true
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func kindOf(node ast.Node) string {
	switch node.(type) {
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode:
		return "a mapping"
	case *ast.AliasNode, *ast.AnchorNode:
		return "an alias or anchor"
	case *ast.TagNode:
		return "a tagged value"
	}
	return "a plain value"
}
