package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// policyReader reads one policy of a file. What it finds is judged piece by piece,
// so that everything that is wrong is said, with its line.
type policyReader struct {
	*fileReader

	path     string // before the names of its fields: "" or "policies.vip."
	document policy.Document
	rulesAt  string // where the rules stand
}

// policy reads a policy that has this name where a whole file (path is "") does not
// name another. What is wrong goes to the problems.
func (r *fileReader) policy(path, name string, node ast.Node, source string) policy.Policy {
	before := len(r.problems)
	p := &policyReader{fileReader: r, path: path, document: policy.Document{Name: name}}
	r.entries(path, node, source, p.known())
	p.allRules(source)
	if len(r.problems) > before {
		return policy.Policy{}
	}
	// What is left to be wrong concerns the policy as a whole.
	policy, err := p.document.Policy()
	for _, problem := range invalids(err) {
		r.reject(path+problem.Field, problem.Value, problem.Want, source)
	}
	return policy
}

// allRules judges the rules together, unless one of them is rejected already.
func (p *policyReader) allRules(source string) {
	if rejections(p.problems).has(p.path + "rules") {
		return
	}
	together := policy.Document{Rules: append([]string{}, p.document.Rules...)}
	_, err := completed(together).Policy()
	for _, problem := range invalids(err) {
		p.reject(p.path+problem.Field, problem.Value, problem.Want, cmp.Or(p.rulesAt, source))
	}
}

// entry is a name that may stand in a mapping, with what reads its value.
type entry struct {
	name string
	read func(node ast.Node, source string)
}

// entries reads a mapping of some names, and rejects all others. A name without a
// value is as one that is not there.
func (r *fileReader) entries(path string, node ast.Node, source string, known []entry) {
	names := make([]string, len(known))
	for i, e := range known {
		names[i] = e.name
	}
	mapping, ok := node.(*ast.MappingNode)
	if _, null := node.(*ast.NullNode); null {
		return
	}
	if !ok {
		r.reject(strings.TrimSuffix(path, "."), kindOf(node), "a mapping of "+strings.Join(names, ", "), source)
		return
	}
	for _, value := range mapping.Values {
		name := value.Key.GetToken()
		at := r.source(name)
		i := slices.Index(names, name.Value)
		if i < 0 {
			r.reject("setting", path+name.Value, "one of "+strings.Join(names, ", "), at)
			continue
		}
		if _, null := value.Value.(*ast.NullNode); !null {
			known[i].read(value.Value, at)
		}
	}
}

// known are what may stand in a policy, in the order in which it is shown.
func (p *policyReader) known() []entry {
	d := &p.document
	all := []entry{
		p.text("time_zone", &d.TimeZone, func(one *policy.Document, s string) { one.TimeZone = s }),
		p.truth("user_time_zone", &d.UserTimeZone),
		p.field("rules", func(field string, node ast.Node, source string) {
			p.rulesAt = source
			p.rules(&d.Rules, field, node, source)
		}),
		p.field("quiet_hours", p.quietHours),
		p.text("reach", &d.Reach, func(one *policy.Document, s string) { one.Reach = s }),
		p.text("on_conflict", &d.OnConflict, func(one *policy.Document, s string) { one.OnConflict = s }),
		p.field("alert_at", p.percents),
		p.text("alert_to", &d.AlertTo, func(one *policy.Document, s string) { one.AlertTo = s }),
		p.field("categories", p.categoryRules),
	}
	if p.path != "" {
		return all
	}
	name := p.field("name", func(field string, node ast.Node, source string) {
		if s, ok := p.plain(field, node, source); ok {
			if problem := badName(s); problem != nil {
				p.reject(field, s, problem.Want, source)
				return
			}
			d.Name = s
		}
	})
	version := p.field("version", func(field string, node ast.Node, source string) { p.plain(field, node, source) })
	return append(append([]entry{name}, all...), version)
}

// badName says what is wrong with the name of a policy.
func badName(name string) *fault.InvalidError {
	policy := policy.Default()
	policy.Name = name
	return invalid(policy.Validate())
}

// field is an entry that knows its whole name.
func (p *policyReader) field(name string, read func(field string, node ast.Node, source string)) entry {
	return entry{name: name, read: func(node ast.Node, source string) { read(p.path+name, node, source) }}
}

// plain returns a plain value, or rejects what is none.
func (p *policyReader) plain(field string, node ast.Node, source string) (string, bool) {
	s, ok := scalar(node)
	if !ok {
		p.reject(field, kindOf(node), plainValue, source)
	}
	return s, ok
}

// text is a field with a plain value, judged by itself.
func (p *policyReader) text(name string, into *string, set func(one *policy.Document, s string)) entry {
	return p.field(name, func(field string, node ast.Node, source string) {
		s, ok := p.plain(field, node, source)
		if !ok {
			return
		}
		var one policy.Document
		set(&one, s)
		if _, problem := alone(one); problem != nil {
			p.reject(field, problem.Value, problem.Want, source)
			return
		}
		*into = s
	})
}

// truth is a field that is true or false.
func (p *policyReader) truth(name string, into *bool) entry {
	return p.field(name, func(field string, node ast.Node, source string) { p.boolean(field, into, node, source) })
}

func (p *policyReader) boolean(field string, into *bool, node ast.Node, source string) {
	s, ok := p.plain(field, node, source)
	if !ok {
		return
	}
	if problem := boolean(into)(s); problem != nil {
		p.reject(field, s, problem.Want, source)
	}
}

// list calls do with each plain value of a list, and where it stands.
func (p *policyReader) list(field string, node ast.Node, want, source string, do func(value, source string)) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		value, plain := scalar(node)
		if !plain {
			value = kindOf(node)
		}
		p.reject(field, value, want, source)
		return
	}
	for _, element := range sequence.Values {
		at := source
		if token := element.GetToken(); token != nil {
			at = p.source(token)
		}
		if value, ok := scalar(element); ok {
			do(value, at)
		} else {
			p.reject(field, kindOf(element), want, at)
		}
	}
}

// rules reads a list of rules, overall ones or those of a category.
func (p *policyReader) rules(into *[]string, field string, node ast.Node, source string) {
	p.list(field, node, "a list of rules such as [1/minute, 5/hour]", source, func(value, at string) {
		if _, err := policy.ParseRule(value); err != nil {
			problem := invalid(err)
			p.reject(field, problem.Value, problem.Want, at)
			return
		}
		*into = append(*into, value)
	})
}

func (p *policyReader) quietHours(field string, node ast.Node, source string) {
	var parts, sources []string
	p.list(field, node, `a list of hours such as ["22:00-08:00"]`, source, func(value, at string) {
		parts, sources = append(parts, value), append(sources, at)
	})
	lines, last := quietLines(parts)
	before := len(p.problems)
	for i, line := range lines {
		if _, err := policy.ParseQuietHours(line); err != nil {
			problem := invalid(err)
			p.reject(field, problem.Value, problem.Want, sources[last[i]])
		}
	}
	if len(p.problems) > before {
		return
	}
	// Each may be allowed, and all together leave no time to send.
	if _, err := policy.ParseQuietHours(lines...); err != nil {
		problem := invalid(err)
		p.reject(field, problem.Value, problem.Want, source)
	}
	p.document.QuietHours = lines
}

func (p *policyReader) percents(field string, node ast.Node, source string) {
	const want = "a list of percents such as [80, 100]; [] for no alerts"
	before := len(p.problems)
	percents := []int{}
	p.list(field, node, want, source, func(value, at string) {
		percent, err := strconv.Atoi(value)
		if err != nil {
			p.reject(field, value, want, at)
			return
		}
		percents = append(percents, percent)
	})
	if len(p.problems) > before {
		return
	}
	if _, problem := alone(policy.Document{AlertAt: percents}); problem != nil {
		p.reject(field, problem.Value, problem.Want, source)
	}
	p.document.AlertAt = percents
}
