package config

import (
	"cmp"
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

// documentReader turns a policy in YAML into a policy.Document, which judges it. It
// remembers where each field stands, so that what the document rejects is reported
// with its line.
type documentReader struct {
	*fileReader

	path  string                  // before the names of the fields: "" or "policies.vip."
	at    map[string]*token.Token // where fields stand, and elements as "rules=5/hour"
	wrong []misplaced
}

// misplaced is a value that is not allowed, and where it stands; nil for nowhere.
type misplaced struct {
	*fault.InvalidError

	at *token.Token
}

// position returns line and column of the value; nowhere comes last.
func (m misplaced) position() (line, column int) {
	if m.at == nil {
		return math.MaxInt, 0
	}
	return m.at.Position.Line, m.at.Position.Column
}

// policy reads a policy. It has the name unless path is "" and the file has another.
// What is wrong goes to the problems.
func (r *fileReader) policy(path, name string, node ast.Node, source string) policy.Policy {
	d := &documentReader{fileReader: r, path: path, at: make(map[string]*token.Token)}
	document := policy.Document{Name: name}
	d.object("", node, nil, &document)
	p, err := document.Policy()
	d.judge(err)
	d.report(source)
	return p
}

// policyNamed reads a policy of the section policies.
func (r *fileReader) policyNamed(name string, node ast.Node, source string) {
	document := completed(policy.Document{})
	document.Name = name
	if _, err := document.Policy(); err != nil {
		r.reject(policiesKey, name, invalid(err).Want, source)
	}
	if name == policy.DefaultName {
		r.reject(policiesKey, name, "another name: what everybody else goes by is under policy", source)
	}
	p := r.policy(policiesKey+"."+name+".", nobody, node, source)
	p.Name = name
	r.config.Seeds.Policies = append(r.config.Seeds.Policies, p)
}

// ofPolicy reads the calendars or the categories of the section policy. Categories may name
// calendars, which mapping reads first.
func (r *fileReader) ofPolicy(key string, node ast.Node, source string) {
	d := &documentReader{fileReader: r, path: "policy.", at: make(map[string]*token.Token)}
	document := policy.Document{Calendars: r.config.Policy.Document().Calendars}
	if key == calendarsKey {
		d.value("calendars", node, node.GetToken(), &document.Calendars)
	} else {
		d.value("categories", node, node.GetToken(), &document.Categories)
	}
	p, err := completed(document).Policy()
	d.judge(err)
	d.report(source)
	if key == calendarsKey {
		r.config.Policy.Calendars = p.Calendars
	} else {
		r.config.Policy.Categories = p.Categories
	}
	r.config.PolicyGiven = r.config.PolicyGiven || len(p.Categories)+len(p.Calendars) > 0
}

// object reads a mapping into the struct that into points to, whose fields have the
// names of their JSON tags.
func (d *documentReader) object(field string, node ast.Node, at *token.Token, into any) {
	document := reflect.ValueOf(into).Elem()
	fields := make(map[string]any)
	var known []string
	for i := range document.NumField() {
		name, _, _ := strings.Cut(document.Type().Field(i).Tag.Get("json"), ",")
		if field != "" || d.path == "" || name != "name" && name != "version" { // the section has the name
			fields[name] = document.Field(i).Addr().Interface()
			known = append(known, name)
		}
	}
	mapping, ok := node.(*ast.MappingNode)
	if _, null := node.(*ast.NullNode); null {
		return
	}
	if !ok {
		d.reject(field, kindOf(node), "a mapping of "+strings.Join(known, ", "), at)
		return
	}
	for _, entry := range mapping.Values {
		key := entry.Key.GetToken()
		name := key.Value
		if field != "" {
			name = field + "." + name
		}
		if into, ok := fields[key.Value]; !ok {
			d.wrong = append(d.wrong, misplaced{unknownSetting(d.path+name, known), key})
		} else if _, null := entry.Value.(*ast.NullNode); !null {
			d.at[name] = key
			d.value(name, entry.Value, key, into)
		}
	}
}

// value reads a field into what into points to.
func (d *documentReader) value(field string, node ast.Node, at *token.Token, into any) {
	switch into := into.(type) {
	case *[]string:
		*into = d.texts(field, node, at)
	case *[]int:
		*into = d.numbers(field, node, at)
	case *[]policy.ChangeDocument:
		*into = d.changes(field, node, at)
	case *map[string][]string:
		*into = d.calendars(field, node, at)
	case *map[string]policy.CategoryDocument:
		*into = d.categories(field, node, at)
	default:
		s, ok := scalar(node)
		if !ok {
			d.reject(field, kindOf(node), plainValue, at)
			return
		}
		switch into := into.(type) {
		case *string:
			*into = s
		case *bool:
			d.truth(field, s, at, into)
		case **bool:
			*into = new(true)
			d.truth(field, s, at, *into)
		case *int64:
			d.version(field, s, at, into)
		}
	}
}

// version reads the version that a policy of a store must have to be replaced.
func (d *documentReader) version(field, s string, at *token.Token, into *int64) {
	version, err := strconv.ParseInt(s, 10, 64)
	if err != nil || version < 1 {
		d.reject(field, s, "a version from 1 on, as worker policy show prints it", at)
		return
	}
	*into = version
}

func (d *documentReader) truth(field, s string, at *token.Token, into *bool) {
	if problem := boolean(into).store(s); problem != nil {
		d.reject(field, s, problem.Want, at)
	}
}

// texts reads a list of rules, hours or dates.
func (d *documentReader) texts(field string, node ast.Node, at *token.Token) []string {
	last := strings.TrimPrefix(field, parent(field)+".")
	hours := last == "quiet_hours" || last == "only"
	want := "a list of rules such as [1/minute, 5/hour]"
	switch {
	case hours:
		want = `a list of hours such as ["22:00-08:00"]`
	case last == "accounts":
		want = "a list of accounts such as [shop, support]"
	case last == "blackouts" || strings.HasPrefix(field, "calendars."):
		want = "a list of dates such as [12-25, 2027-04-02..2027-04-05]"
	}
	words, tokens := d.list(field, node, want, at)
	if hours {
		lines, last := quietLines(words)
		for i, line := range lines {
			d.at[field+"="+line] = tokens[last[i]]
		}
		return append([]string{}, lines...) // an empty list is not the same as none
	}
	for i, word := range words {
		d.at[field+"="+word] = tokens[i]
		if rule, err := policy.ParseRule(word); err == nil {
			d.at[field+"="+rule.String()] = tokens[i] // as the document spells it
		}
	}
	return append([]string{}, words...)
}

// numbers reads a list of percents.
func (d *documentReader) numbers(field string, node ast.Node, at *token.Token) []int {
	const want = "a list of percents such as [80, 100]; [] for no alerts"
	words, tokens := d.list(field, node, want, at)
	numbers := make([]int, 0, len(words))
	for i, word := range words {
		number, err := strconv.Atoi(word)
		if err != nil {
			d.reject(field, word, want, tokens[i])
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// list returns the plain values of a list, and where they stand.
func (d *documentReader) list(field string, node ast.Node, want string, at *token.Token) (words []string, tokens []*token.Token) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		value, plain := scalar(node)
		if !plain {
			value = kindOf(node)
		}
		d.reject(field, value, want, at)
		return nil, nil
	}
	for _, element := range sequence.Values {
		stands := cmp.Or(element.GetToken(), at)
		if word, ok := scalar(element); ok {
			words, tokens = append(words, word), append(tokens, stands)
		} else {
			d.reject(field, kindOf(element), want, stands)
		}
	}
	return words, tokens
}

// categories reads what a policy has for single categories.
func (d *documentReader) categories(field string, node ast.Node, at *token.Token) map[string]policy.CategoryDocument {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		d.reject(field, kindOf(node), "a mapping of categories to their rules", at)
		return nil
	}
	categories := make(map[string]policy.CategoryDocument, len(mapping.Values))
	for _, entry := range mapping.Values {
		key := entry.Key.GetToken()
		name := field + "." + key.Value
		d.at[name], d.at[field+"="+key.Value] = key, key
		var category policy.CategoryDocument
		d.object(name, entry.Value, key, &category)
		categories[key.Value] = category
	}
	return categories
}

// changes reads a list of dated changes.
func (d *documentReader) changes(field string, node ast.Node, at *token.Token) []policy.ChangeDocument {
	const want = "a list of changes, each with from or until"
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		d.reject(field, kindOf(node), want, at)
		return nil
	}
	changes := make([]policy.ChangeDocument, len(sequence.Values))
	for i, element := range sequence.Values {
		name := field + "." + strconv.Itoa(i+1)
		stands := cmp.Or(element.GetToken(), at)
		d.at[name] = stands
		d.object(name, element, stands, &changes[i])
	}
	return changes
}

// calendars reads lists of dates by name.
func (d *documentReader) calendars(field string, node ast.Node, at *token.Token) map[string][]string {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		d.reject(field, kindOf(node), "a mapping of names to lists of dates", at)
		return nil
	}
	calendars := make(map[string][]string, len(mapping.Values))
	for _, entry := range mapping.Values {
		key := entry.Key.GetToken()
		name := field + "." + key.Value
		d.at[name], d.at[field+"="+key.Value] = key, key
		calendars[key.Value] = d.texts(name, entry.Value, key)
	}
	return calendars
}

// reject notes a field that can't be read.
func (d *documentReader) reject(field, value, want string, at *token.Token) {
	d.wrong = append(d.wrong, misplaced{&fault.InvalidError{Field: field, Value: value, Want: want}, at})
}

// judge notes what a document rejects. Of a field that can't be read, and of what
// has such a field, it says nothing but for elements that could be read.
func (d *documentReader) judge(err error) {
	unread := slices.Clone(d.wrong)
	for _, problem := range invalids(err) {
		if problem.Field == "policy" {
			problem.Field = "name" // as the file calls it
		}
		at := d.at[problem.Field+"="+problem.Value]
		if at == nil && slices.ContainsFunc(unread, func(u misplaced) bool { return within(u.Field, problem.Field) || within(problem.Field, u.Field) }) {
			continue
		}
		for field := problem.Field; at == nil && field != ""; field = parent(field) {
			at = d.at[field]
		}
		d.wrong = append(d.wrong, misplaced{problem, at})
	}
}

// within reports whether a field is another one, or a part of it; "" is the whole.
func within(field, other string) bool {
	return other == "" || field == other || strings.HasPrefix(field, other+".")
}

// parent returns the field that a field is a part of; "" for none.
func parent(field string) string {
	return field[:max(0, strings.LastIndexByte(field, '.'))]
}

// report hands on what is wrong, in the order of the file; source is where the
// policy stands.
func (d *documentReader) report(source string) {
	slices.SortStableFunc(d.wrong, func(a, b misplaced) int {
		line, column := a.position()
		otherLine, otherColumn := b.position()
		return cmp.Or(cmp.Compare(line, otherLine), cmp.Compare(column, otherColumn))
	})
	for _, problem := range d.wrong {
		field, stands := problem.Field, source
		if problem.at != nil {
			stands = d.source(problem.at)
		}
		if field != "setting" { // whose value has the whole name
			field = strings.TrimSuffix(d.path+field, ".")
		}
		d.add(&fault.InvalidError{Field: field, Value: problem.Value, Want: problem.Want, Says: problem.Says}, stands)
	}
}
