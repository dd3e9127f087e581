package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// reader reads YAML into structs by the JSON tags of their fields. It collects all problems, and
// remembers the position of each field for errors that are found later.
type reader struct {
	name   string                  // of the file
	at     map[string]*token.Token // of fields, and of elements as "rules=5/hour"
	unread []misplaced             // values that can't be read
	wrong  []misplaced             // values that can be read but are not allowed
}

// misplaced is a problem with its position; nil for unknown.
type misplaced struct {
	*fault.InvalidError

	at *token.Token
}

// position returns line and column. An unknown position sorts last.
func (m misplaced) position() (line, column int) {
	if m.at == nil {
		return math.MaxInt, 0
	}
	return m.at.Position.Line, m.at.Position.Column
}

// decode reads a node, the value of the name at a token. It reports false if the node can't be
// read. A name without a value is ignored.
func (r *reader) decode(field string, node ast.Node, at *token.Token, into reflect.Value) bool {
	text, plain := scalar(node)
	mapping, _ := node.(*ast.MappingNode)
	list, _ := node.(*ast.SequenceNode)
	_, null := node.(*ast.NullNode)
	number, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64) // 10_000 and 1e6 are numbers too
	whole := err == nil && number == math.Trunc(number) && math.Abs(number) < 1<<53
	switch kind := into.Kind(); {
	case (null || node == nil) && lastPart(parent(field)) != "calendars": // one without dates would forbid nothing
	case kind == reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return r.decode(field, node, at, into.Elem())
	case (kind == reflect.Struct || kind == reflect.Map) && mapping != nil:
		r.entries(field, mapping, into)
	case kind == reflect.Slice && list != nil:
		r.elements(field, list, at, into)
	case kind == reflect.String && plain:
		into.SetString(text)
	case kind == reflect.Bool && (text == "true" || text == "false"):
		into.SetBool(text == "true")
	case into.CanInt() && whole && (number > 0 || lastPart(field) != "version"):
		into.SetInt(int64(number))
	default:
		hidden := strings.HasPrefix(field, tiersKey+".") || strings.HasPrefix(field, accountsKey+".") // it may be a key in the wrong place
		if !plain || hidden || kind == reflect.Struct || kind == reflect.Map {
			text = kindOf(node)
		}
		r.reject(field, text, wanted(field, into.Type()), at)
		return false
	}
	return true
}

// entries reads a mapping into a struct or a map.
func (r *reader) entries(field string, mapping *ast.MappingNode, into reflect.Value) {
	if into.Kind() == reflect.Map {
		into.Set(reflect.MakeMap(into.Type()))
	}
	for _, entry := range mapping.Values {
		key := entry.Key.GetToken()
		name := strings.TrimPrefix(field+"."+key.Value, ".")
		r.at[name], r.at[field+"="+key.Value] = key, key
		if into.Kind() == reflect.Map {
			value := reflect.New(into.Type().Elem()).Elem()
			r.decode(name, entry.Value, key, value)
			into.SetMapIndex(reflect.ValueOf(key.Value), value)
			continue
		}
		known, index := names(field, into.Type())
		if i, ok := index[key.Value]; ok {
			r.decode(name, entry.Value, key, into.Field(i))
		} else {
			r.unknown(name, known, key)
		}
	}
}

// elements reads a list. An empty list differs from none.
func (r *reader) elements(field string, list *ast.SequenceNode, at *token.Token, into reflect.Value) {
	into.Set(reflect.MakeSlice(into.Type(), 0, len(list.Values)))
	var tokens []*token.Token
	for i, element := range list.Values {
		stands, value := cmp.Or(element.GetToken(), at), reflect.New(into.Type().Elem()).Elem()
		if value.Kind() == reflect.Struct {
			name := field + "." + strconv.Itoa(i+1)
			r.at[name] = stands
			r.decode(name, element, stands, value)
		} else if !r.decode(field, element, stands, value) {
			continue
		}
		into.Set(reflect.Append(into, value))
		tokens = append(tokens, stands)
	}
	words, ok := into.Interface().([]string)
	if last := lastPart(field); ok && (last == "quiet_hours" || last == "only") {
		lines, ends := quietLines(words)
		for i, line := range lines {
			r.at[field+"="+line] = tokens[ends[i]]
		}
		into.Set(reflect.ValueOf(append([]string{}, lines...)))
		return
	}
	for i, word := range words {
		r.at[field+"="+word] = tokens[i]
		if rule, err := policy.ParseRule(word); err == nil {
			r.at[field+"="+rule.String()] = tokens[i] // as a document spells it
		}
	}
}

// names returns the names of a struct's fields, and the index of each. A policy in a section gets
// its name from the section.
func names(field string, of reflect.Type) (known []string, index map[string]int) {
	index = make(map[string]int)
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name != "-" && (field == "" || name != "name" && name != "version") {
			known, index[name] = append(known, name), i
		}
	}
	return known, index
}

// wanted describes the values that a field accepts.
func wanted(field string, into reflect.Type) string {
	const hours, dates = `a list of hours such as ["22:00-08:00"]`, "a list of dates such as [12-25, 2027-04-02..2027-04-05]"
	last := lastPart(field)
	switch {
	case into.Kind() == reflect.Struct:
		known, _ := names(field, into)
		return "a mapping of " + strings.Join(known, ", ")
	case into.Kind() == reflect.Bool:
		return "true or false"
	case last == "version":
		return "a version from 1 on, as sendlimit-worker policy show prints it"
	case into.Kind() == reflect.Int64:
		return "a whole number"
	case lastPart(parent(field)) == "calendars":
		return dates
	case field == last && into.Kind() == reflect.Map && last != "calendars" && last != "categories":
		return "a mapping of names to " + field
	}
	return cmp.Or(map[string]string{
		"rules":       "a list of rules such as [1/minute, 5/hour]",
		"quiet_hours": hours,
		"only":        hours,
		"accounts":    "a list of accounts such as [shop, support]",
		"blackouts":   dates,
		"alert_at":    "a list of percents such as [80, 100]; [] for no alerts",
		"categories":  "a mapping of categories to their rules",
		"calendars":   "a mapping of names to lists of dates",
		"changes":     "a list of changes, each with from or until",
		"keys":        "a list of key_sha256 with scopes",
		"scopes":      "a list of submit, read, admin and content",
	}[last], "a plain value")
}

// reject notes a field that can't be read.
func (r *reader) reject(field, value, want string, at *token.Token) {
	r.unread = append(r.unread, misplaced{&fault.InvalidError{Field: field, Value: value, Want: want}, at})
}

// unknown notes an unknown name.
func (r *reader) unknown(key string, known []string, at *token.Token) {
	r.unread = append(r.unread, misplaced{fault.Wrong("setting", "%s", sentenceOfUnknown(key, known)), at})
}

func sentenceOfUnknown(key string, known []string) string {
	return fmt.Sprintf("unknown setting %q: there are %s", fault.Clip(key), strings.Join(known, ", "))
}

// judge notes the problems in an error. path is the prefix of its fields: "" or "policies.vip.". It
// skips fields that can't be read, and their parents, except for elements that could be read.
func (r *reader) judge(path string, err error) {
	for _, problem := range invalids(err) {
		problem.Field = path + problem.Field
		if problem.Field == "policy" {
			problem.Field = "name" // as the file calls it
		}
		field := problem.Field
		at := r.at[field+"="+problem.Value]
		if at == nil && slices.ContainsFunc(r.unread, func(u misplaced) bool { return within(u.Field, field) || within(field, u.Field) }) {
			continue
		}
		for whole := field; at == nil && whole != ""; whole = parent(whole) {
			at = r.at[whole]
		}
		r.wrong = append(r.wrong, misplaced{problem, at})
	}
}

// within reports whether a field is another one or a part of it; "" is the whole.
func within(field, other string) bool {
	return other == "" || field == other || strings.HasPrefix(field, other+".")
}

// parent returns the field that a field is a part of; "" for none.
func parent(field string) string {
	return field[:max(0, strings.LastIndexByte(field, '.'))]
}

// lastPart returns the name of a field in its parent.
func lastPart(field string) string {
	return field[strings.LastIndexByte(field, '.')+1:]
}

// source returns file and line of a token.
func (r *reader) source(at *token.Token) string {
	if at == nil {
		return r.name
	}
	return fmt.Sprintf("%s, line %d", r.name, at.Position.Line)
}

// problems returns all problems, in the order of the file.
func (r *reader) problems() []*fault.InvalidError {
	all := slices.Concat(r.unread, r.wrong)
	slices.SortStableFunc(all, func(a, b misplaced) int {
		line, column := a.position()
		otherLine, otherColumn := b.position()
		return cmp.Or(cmp.Compare(line, otherLine), cmp.Compare(column, otherColumn))
	})
	problems := make([]*fault.InvalidError, len(all))
	for i, problem := range all {
		problems[i] = problem.Noting(" (" + r.source(problem.at) + ")")
	}
	return problems
}
