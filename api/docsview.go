package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
)

// docsView is the OpenAPI document in the form that the page shows.
type docsView struct {
	Title, Version string
	About          []string // paragraphs
	Groups         []docsGroup
	Schemas        []docsSchema
	Problems       []docsProblem
}

type docsGroup struct {
	Name, About string
	Operations  []docsOperation
}

type docsOperation struct {
	ID, Method, Path, Summary, About string
	Parameters                       []docsField
	Bodies                           []docsBody
	Responses                        []docsResponse
}

// docsBody is one of the types that a body can have.
type docsBody struct{ Type, Schema string }

type docsResponse struct {
	Status, About string
	Headers       []string
	Bodies        []docsBody
}

type docsSchema struct {
	Name   string
	Fields []docsField
}

type docsField struct {
	Name, In, Type, Schema, About string
	Required                      bool
}

type docsProblem struct {
	Code, Title string
	Statuses    []int
}

// view returns the document in the form that the page shows.
func (d document) view() docsView {
	v := docsView{Title: d.Info.Title, Version: d.Info.Version, About: strings.Split(d.Info.Description, "\n\n")}
	for _, tag := range d.Tags {
		group := docsGroup{Name: tag.Name, About: tag.Description}
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, operation := range operationsOf(d.Paths[path]) {
				if slices.Contains(operation.Tags, tag.Name) {
					group.Operations = append(group.Operations, viewOperation(operation))
				}
			}
		}
		v.Groups = append(v.Groups, group)
	}
	schemas := d.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		v.Schemas = append(v.Schemas, viewSchema(name, schemas[name]))
	}
	for _, k := range web.Kinds() {
		v.Problems = append(v.Problems, docsProblem{Code: string(k.Code), Title: k.Title, Statuses: k.Statuses()})
	}
	return v
}

// span is a part of a text.
type span struct {
	Text string
	Code bool // it is between backticks
}

// spans divides a description at its backticks, which mark code in Markdown. A last one
// that is not closed stays.
func spans(text string) []span {
	parts := strings.Split(text, "`")
	if last := len(parts) - 1; last%2 == 1 {
		parts = append(parts[:last-1], parts[last-1]+"`"+parts[last])
	}
	all := make([]span, len(parts))
	for i, part := range parts {
		all[i] = span{Text: part, Code: i%2 == 1}
	}
	return all
}

func operationsOf(item *huma.PathItem) []*huma.Operation {
	all := []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete}
	return slices.DeleteFunc(all, func(o *huma.Operation) bool { return o == nil })
}

func viewOperation(o *huma.Operation) docsOperation {
	v := docsOperation{ID: o.OperationID, Method: o.Method, Path: o.Path, Summary: o.Summary, About: o.Description}
	for _, p := range o.Parameters {
		v.Parameters = append(v.Parameters, docsField{
			Name: p.Name, In: p.In, Type: p.Schema.Type, About: p.Description, Required: p.Required,
		})
	}
	if o.RequestBody != nil {
		v.Bodies = viewBodies(o.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		response := o.Responses[status]
		v.Responses = append(v.Responses, docsResponse{
			Status: status, About: response.Description, Bodies: viewBodies(response.Content),
			Headers: slices.Sorted(maps.Keys(response.Headers)),
		})
	}
	return v
}

func viewBodies(content map[string]*huma.MediaType) []docsBody {
	var bodies []docsBody
	for _, name := range slices.Sorted(maps.Keys(content)) {
		either := content[name].Schema.AnyOf
		if either == nil {
			either = []*huma.Schema{content[name].Schema}
		}
		for _, one := range either {
			_, schema := viewType(one)
			bodies = append(bodies, docsBody{Type: name, Schema: schema})
		}
	}
	return bodies
}

func viewSchema(name string, s *huma.Schema) docsSchema {
	v := docsSchema{Name: name}
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[field]
		what, schema := viewType(property)
		v.Fields = append(v.Fields, docsField{
			Name: field, Type: what, Schema: schema, About: property.Description, Required: slices.Contains(s.Required, field),
		})
	}
	return v
}

// viewType returns the type of a schema, and the named schema that says more.
func viewType(s *huma.Schema) (what, schema string) {
	switch {
	case s == nil:
		return "", ""
	case s.AnyOf != nil:
		return viewType(s.AnyOf[0])
	case s.Ref != "":
		return "", s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		what, schema = viewType(s.Items)
		return strings.TrimSpace("array of " + what), schema
	case s.Format != "":
		return s.Type + " (" + s.Format + ")", ""
	default:
		return s.Type, ""
	}
}
