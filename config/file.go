package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// maxFile is the largest size of a file in bytes, so that the name of a device by mistake
// ends in an error.
const maxFile = 1 << 20

// readFile reads the settings of a file into the rows. It reports all unknown names at once,
// unlike the library's strict decoding, and never quotes the file, since the line may have
// a secret.
func readFile(name string, rows []*setting, c *Config) []*fault.InvalidError {
	if name == "" {
		return nil
	}
	rejected := func(format string, args ...any) []*fault.InvalidError {
		return []*fault.InvalidError{fault.Wrong(FileFlag, "%s", name+" "+fmt.Sprintf(format, args...))}
	}
	data, err := readPath(name)
	if err != nil {
		return rejected("can't be read: %v", err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return rejected("is no valid YAML: %s", syntaxProblem(err, rows))
	}
	reader := fileReader{name: name, rows: rows, config: c}
	found := false
	for _, document := range file.Docs {
		switch body := document.Body.(type) {
		case nil:
		case *ast.MappingNode:
			if found {
				return rejected("has several YAML documents: one is allowed")
			}
			found = true
			reader.mapping("", body)
		default:
			return rejected("has no settings: write one a line, name: value")
		}
	}
	reader.tiersOfAccounts()
	return reader.problems
}

// syntaxProblem says where the file is not YAML and why. Of the words of the file it repeats
// only names of settings.
func syntaxProblem(err error, rows []*setting) string {
	problem, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return "it can't be parsed"
	}
	names := make(map[string]bool)
	for _, row := range rows {
		for part := range strings.SplitSeq(row.key, ".") {
			names[part] = true
		}
	}
	message := regexp.MustCompile(`"[^"]*"?`).ReplaceAllStringFunc(problem.GetMessage(), func(quoted string) string {
		if names[strings.Trim(quoted, `"`)] {
			return quoted
		}
		return `"…"`
	})
	if strings.Contains(message, "mapping value is not allowed") { // what the parser says of push_url: log:
		message += `; a value with a colon at its end goes in quotes, such as "log:"`
	}
	if at := problem.GetToken(); at != nil && at.Position != nil {
		return fmt.Sprintf("line %d, column %d: %s", at.Position.Line, at.Position.Column, message)
	}
	return message
}

// fileReader reads the mappings of a file.
type fileReader struct {
	name     string
	rows     []*setting
	config   *Config // gets what is in the file alone
	problems []*fault.InvalidError
}

// firstRead returns 0 for what has to be read before other entries, and 1 for these.
func firstRead(key string) int {
	if key == calendarsKey {
		return 0
	}
	return 1
}

// mapping reads one mapping; prefix is "" or the name of the mapping and a dot.
func (r *fileReader) mapping(prefix string, m *ast.MappingNode) {
	entries := slices.Clone(m.Values)
	slices.SortStableFunc(entries, func(a, b *ast.MappingValueNode) int {
		return firstRead(prefix+a.Key.GetToken().Value) - firstRead(prefix+b.Key.GetToken().Value)
	})
	for _, entry := range entries {
		name := entry.Key.GetToken()
		key := prefix + name.Value
		source := r.source(name)
		if row := r.row(key); row != nil {
			r.value(row, entry.Value, source)
			continue
		}
		if slices.Contains(seedKeys(), key) {
			r.seed(key, entry.Value, source)
			continue
		}
		inner := r.under(key + ".")
		if len(inner) == 0 {
			r.add(unknownSetting(key, r.under(prefix)), source)
			continue
		}
		switch value := entry.Value.(type) {
		case *ast.NullNode:
		case *ast.MappingNode:
			r.mapping(key+".", value)
		default:
			r.reject(key, kindOf(value), "a mapping of "+strings.Join(inner, ", "), source)
		}
	}
}

func (r *fileReader) row(key string) *setting {
	for _, row := range r.rows {
		if row.key == key {
			return row
		}
	}
	return nil
}

// under returns the names of the settings that begin with the prefix.
func (r *fileReader) under(prefix string) []string {
	var keys []string
	for _, row := range r.rows {
		if strings.HasPrefix(row.key, prefix) {
			keys = append(keys, row.key)
		}
	}
	for _, key := range seedKeys() {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *fileReader) value(row *setting, node ast.Node, source string) {
	if s, ok := scalar(node); ok {
		row.give(s, source)
		return
	}
	list, ok := node.(*ast.SequenceNode)
	if !ok || !row.list {
		want := "a plain value"
		if row.list {
			want = "a list of plain values"
		}
		r.reject(row.key, kindOf(node), want, source)
		return
	}
	elements := make([]string, len(list.Values))
	for i, element := range list.Values {
		if elements[i], ok = scalar(element); !ok {
			r.reject(row.key, kindOf(element), "a list of plain values", source)
			return
		}
	}
	if len(elements) == 0 {
		elements = []string{emptyList}
	}
	row.give(strings.Join(elements, ", "), source)
}

func (r *fileReader) reject(field, value, want, source string) {
	r.add(&fault.InvalidError{Field: field, Value: value, Want: want}, source)
}

func unknownSetting(key string, known []string) *fault.InvalidError {
	return fault.Wrong("setting", "unknown setting %q: there are %s", fault.Clip(key), strings.Join(known, ", "))
}

// add notes what is wrong; source is where it stands.
func (r *fileReader) add(problem *fault.InvalidError, source string) {
	r.problems = append(r.problems, problem.Noting(" ("+source+")"))
}

// scalar returns a plain value as written: 0123 stays 0123, although it is an octal number
// in YAML.
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
