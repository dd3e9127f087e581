package docs

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// view is the OpenAPI document in the form that the page shows.
type view struct {
	Title, Version, About string
	KeysOptional          bool
	Groups                []group
	Webhooks              []operation
	Common                []response // answers that every operation has
	Schemas               []schema
	Problems              []Problem
	links                 links
}

// Operations returns the number of operations.
func (v view) Operations() int {
	n := 0
	for _, g := range v.Groups {
		n += len(g.Operations)
	}
	return n
}

type group struct {
	Name, ID, About string
	Operations      []operation
}

type operation struct {
	ID, Method, Path, Summary, About, Scope string
	Parameters                              []field
	Bodies                                  []body
	Command                                 *command // nil for a webhook
	Responses                               []response
	Common                                  []string // statuses whose answers are those of every operation
}

// Statuses returns the possible statuses of the operation.
func (o operation) Statuses() string {
	all := make([]string, 0, len(o.Responses)+len(o.Common))
	for _, r := range o.Responses {
		all = append(all, r.Status)
	}
	all = append(all, o.Common...)
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// body is one of the possible types of a body.
type body struct {
	Type    string
	Schemas []string // one of them
}

type response struct {
	Status, About string
	Headers       []string
	Bodies        []body
}

type schema struct {
	Name, About string
	Fields      []field
}

type field struct {
	Name, In, Type, Schema, About string
	Required, Null                bool
	Facts                         []fact
}

// anyProblem is the status for all problems without a separate answer.
const anyProblem = "default"

func (s Source) view() view {
	d := s.Document
	v := view{
		Title: d.Info.Title, Version: d.Info.Version, About: d.Info.Description,
		KeysOptional: s.KeysOptional, Problems: s.Problems, links: make(links),
	}
	all := s.operations()
	common := commonResponses(all)
	for _, status := range slices.Sorted(maps.Keys(common)) {
		v.Common = append(v.Common, viewResponse(status, common[status]))
	}
	for _, o := range all {
		v.links[o.OperationID] = "#" + o.OperationID
	}
	for _, p := range s.Problems {
		v.links[p.Code] = "#problem-" + p.Code
	}
	for _, tag := range d.Tags {
		g := group{Name: tag.Name, ID: "tag-" + strings.ReplaceAll(tag.Name, " ", "-"), About: tag.Description}
		for _, o := range all {
			if slices.Contains(o.Tags, tag.Name) {
				g.Operations = append(g.Operations, s.viewOperation(o, common))
			}
		}
		v.Groups = append(v.Groups, g)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Webhooks)) {
		for _, o := range operationsOf(d.Webhooks[name]) {
			hook := s.viewOperation(o, nil)
			hook.ID, hook.Path, hook.Command = "webhook-"+name, name, nil
			v.Webhooks = append(v.Webhooks, hook)
		}
	}
	schemas := d.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		v.Schemas = append(v.Schemas, s.viewSchema(name, schemas[name]))
	}
	return v
}

// operations returns the operations of the document by path.
func (s Source) operations() []*huma.Operation {
	var all []*huma.Operation
	for _, path := range slices.Sorted(maps.Keys(s.Document.Paths)) {
		all = append(all, operationsOf(s.Document.Paths[path])...)
	}
	return all
}

func operationsOf(item *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete}
	return slices.DeleteFunc(all, func(o *huma.Operation) bool { return o == nil })
}

// commonResponses returns the problems that all operations describe in the same words. The page
// shows them once.
func commonResponses(all []*huma.Operation) map[string]*huma.Response {
	common := make(map[string]*huma.Response)
	for i, o := range all {
		if i == 0 {
			for status, r := range o.Responses {
				if !strings.HasPrefix(status, "2") {
					common[status] = r
				}
			}
		}
		for status, r := range common {
			if own := o.Responses[status]; own == nil || own.Description != r.Description {
				delete(common, status)
			}
		}
	}
	return common
}

func (s Source) viewOperation(o *huma.Operation, common map[string]*huma.Response) operation {
	scope := s.Scopes[o.OperationID]
	v := operation{
		ID: o.OperationID, Method: o.Method, Path: o.Path, Summary: o.Summary, Scope: scope,
		About: strings.TrimSuffix(o.Description, "Requires the scope "+scope+"."), // the page has a line for it
	}
	command := s.command(o)
	v.Command = &command
	for _, p := range o.Parameters {
		f := s.viewField(p.Name, p.Schema, p.Required)
		f.In, f.About, f.Null = p.In, p.Description, false
		v.Parameters = append(v.Parameters, f)
	}
	if o.RequestBody != nil {
		v.Bodies = bodies(o.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		switch {
		case common[status] != nil && status != anyProblem:
			v.Common = append(v.Common, status)
		case common[status] == nil:
			v.Responses = append(v.Responses, viewResponse(status, o.Responses[status]))
		}
	}
	return v
}

func viewResponse(status string, r *huma.Response) response {
	if status == anyProblem {
		status = "other"
	}
	return response{Status: status, About: r.Description, Bodies: bodies(r.Content), Headers: slices.Sorted(maps.Keys(r.Headers))}
}

func bodies(content map[string]*huma.MediaType) []body {
	var all []body
	for _, name := range slices.Sorted(maps.Keys(content)) {
		b := body{Type: name}
		either := content[name].Schema.AnyOf
		if either == nil {
			either = []*huma.Schema{content[name].Schema}
		}
		for _, one := range either {
			if _, named := typeOf(one); named != "" {
				b.Schemas = append(b.Schemas, named)
			}
		}
		all = append(all, b)
	}
	return all
}

func (s Source) viewSchema(name string, of *huma.Schema) schema {
	v := schema{Name: name, About: of.Description}
	for _, member := range slices.Sorted(maps.Keys(of.Properties)) {
		v.Fields = append(v.Fields, s.viewField(member, of.Properties[member], slices.Contains(of.Required, member)))
	}
	return v
}

func (s Source) viewField(name string, of *huma.Schema, required bool) field {
	what, named := typeOf(of)
	return field{
		Name: name, Type: what, Schema: named, About: of.Description, Required: required, Facts: s.facts(of),
		Null: of.Nullable || slices.ContainsFunc(of.AnyOf, func(one *huma.Schema) bool { return one.Type == "null" }),
	}
}

// segments divides a path at possible line breaks.
func segments(path string) []string {
	all := strings.Split(path, "/")
	for i := range all[1:] {
		all[i+1] = "/" + all[i+1]
	}
	return slices.DeleteFunc(all, func(part string) bool { return part == "" })
}

// StatusList returns the statuses with commas between them.
func (p Problem) StatusList() string {
	texts := make([]string, len(p.Statuses))
	for i, status := range p.Statuses {
		texts[i] = strconv.Itoa(status)
	}
	return strings.Join(texts, ", ")
}
