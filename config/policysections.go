package config

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// furtherPolicy reads a policy that single users may have.
func (r *fileReader) furtherPolicy(name string, node ast.Node, source string) {
	if problem := badName(name); problem != nil {
		r.reject(policiesKey, name, problem.Want, source)
	}
	if name == policy.DefaultName {
		r.reject(policiesKey, name, "another name: what everybody else goes by is under policy", source)
	}
	policy := r.policy(policiesKey+"."+name+".", name, node, source)
	r.config.Seeds.Policies = append(r.config.Seeds.Policies, policy)
}

// categories reads what the policy of the settings has for single categories.
func (r *fileReader) categories(node ast.Node, source string) {
	const section = "policy."
	p := &policyReader{fileReader: r, path: section}
	before := len(r.problems)
	p.categoryRules(categoriesKey, node, source)
	if len(r.problems) > before {
		return
	}
	policy, problem := alone(policy.Document{Categories: p.document.Categories})
	if problem != nil {
		r.reject(section+problem.Field, problem.Value, problem.Want, source)
	}
	r.config.Policy.Categories = policy.Categories
	r.config.PolicyGiven = len(policy.Categories) > 0
}

// categoryRules reads what a policy has for single categories.
func (p *policyReader) categoryRules(field string, node ast.Node, source string) {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		p.reject(field, kindOf(node), "a mapping of categories to their rules", source)
		return
	}
	p.document.Categories = make(map[string]policy.CategoryDocument, len(mapping.Values))
	for _, value := range mapping.Values {
		name := value.Key.GetToken()
		p.document.Categories[name.Value] = p.category(field, name.Value, value.Value, p.source(name))
	}
}

func (p *policyReader) category(field, name string, node ast.Node, source string) policy.CategoryDocument {
	var c policy.CategoryDocument
	before := len(p.problems)
	path := field + "." + name + "."
	p.entries(path, node, source, []entry{
		{"rules", func(node ast.Node, source string) { p.rules(&c.Rules, path+"rules", node, source) }},
		{"exempt", func(node ast.Node, source string) { p.boolean(path+"exempt", &c.Exempt, node, source) }},
		{"counts", func(node ast.Node, source string) {
			c.Counts = new(true)
			p.boolean(path+"counts", c.Counts, node, source)
		}},
	})
	if len(p.problems) > before {
		return c
	}
	one := policy.Document{Categories: map[string]policy.CategoryDocument{name: c}}
	_, err := completed(one).Policy()
	for _, problem := range invalids(err) {
		p.reject(p.path+problem.Field, problem.Value, problem.Want, source)
	}
	return c
}
