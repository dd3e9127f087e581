package config

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// fileReader reads a file of settings.
type fileReader struct {
	reader

	rows     []*setting
	sections map[string]*ast.MappingValueNode // those of sectionKeys
}

// readFile reads a file: settings into the rows, calendars and categories into the policy, and the
// rest into c. It returns all problems. Errors never quote a line of the file, which may have a
// secret.
func readFile(name string, rows []*setting, c *Config, p *policy.Document) []*fault.InvalidError {
	if name == "" {
		return nil
	}
	data, err := readPath(name)
	body, err := document(data, err, "YAML", "has no settings: write one a line", func(word string) bool {
		return slices.ContainsFunc(rows, func(row *setting) bool { return slices.Contains(strings.Split(row.key, "."), word) })
	})
	if err != nil {
		return []*fault.InvalidError{fault.Wrong(FileFlag, "%s %v", name, err)}
	}
	r := fileReader{
		reader: reader{name: name, at: make(map[string]*token.Token)},
		rows:   rows, sections: make(map[string]*ast.MappingValueNode),
	}
	if body != nil {
		r.mapping("", body)
	}
	r.policySection(p)
	c.PolicyGiven = len(p.Categories)+len(p.Calendars) > 0
	c.Seeds = Seeds{Policies: r.policies(), Tiers: r.tiers(), Accounts: r.accounts()}
	r.tiersOfAccounts(c.Seeds)
	return r.problems()
}

// mapping reads one mapping; prefix is "" or the name of the mapping and a dot.
func (r *fileReader) mapping(prefix string, m *ast.MappingNode) {
	for _, entry := range m.Values {
		name := entry.Key.GetToken()
		key := prefix + name.Value
		if i := slices.IndexFunc(r.rows, func(row *setting) bool { return row.key == key }); i >= 0 {
			r.value(r.rows[i], entry.Value, name)
			continue
		}
		if slices.Contains(sectionKeys(), key) {
			r.sections[key] = entry
			continue
		}
		inner := r.under(key + ".")
		if len(inner) == 0 {
			known := r.under(prefix)
			r.unread = append(r.unread, misplaced{unknownSetting(key, key, known, sentenceOfUnknown(key, known)), name})
			continue
		}
		switch value := entry.Value.(type) {
		case *ast.NullNode:
		case *ast.MappingNode:
			r.mapping(key+".", value)
		default:
			r.reject(key, kindOf(value), "a mapping of "+strings.Join(inner, ", "), name)
		}
	}
}

// under returns the names of the settings that begin with the prefix.
func (r *fileReader) under(prefix string) []string {
	var keys []string
	for _, row := range r.rows {
		keys = append(keys, row.key)
	}
	return slices.DeleteFunc(append(keys, sectionKeys()...), func(key string) bool { return !strings.HasPrefix(key, prefix) })
}

func (r *fileReader) value(row *setting, node ast.Node, at *token.Token) {
	want := "a plain value"
	if row.list {
		want = "a list of plain values"
	}
	nodes := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok && row.list {
		nodes = list.Values
	}
	elements := make([]string, len(nodes))
	for i, element := range nodes {
		var ok bool
		if elements[i], ok = scalar(element); !ok {
			r.reject(row.key, kindOf(element), want, at)
			return
		}
	}
	if len(elements) == 0 {
		elements = []string{emptyList}
	}
	row.give(strings.Join(elements, ", "), r.source(at))
}
