package generate

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// document has the parts of an OpenAPI document that the clients need.
type document struct {
	Paths      map[string]map[string]described `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type described struct {
	ID          string      `json:"operationId"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
	RequestBody struct {
		Content map[string]content `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Required    bool    `json:"required"`
	Description string  `json:"description"`
	Schema      *schema `json:"schema"`
}

type content struct {
	Schema *schema `json:"schema"`
}

type response struct {
	Headers map[string]json.RawMessage `json:"headers"`
	Content map[string]content         `json:"content"`
}

// schema is a JSON schema, without the bounds that a type can't express.
type schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"` // a name, or several
	Description string             `json:"description,omitempty"`
	Format      string             `json:"format,omitempty"`
	Enum        []any              `json:"enum,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	// Additional is the schema of the values of a map, or a bool.
	Additional json.RawMessage `json:"additionalProperties,omitempty"`

	Examples []any  `json:"examples,omitempty"`
	Pattern  string `json:"pattern,omitempty"`

	// Words are the present values of a text. More may be added.
	Words []string `json:"x-words,omitempty"`
	// Time marks a text that is a time, in a request.
	Time bool `json:"x-time,omitempty"`
}

const schemasPath = "#/components/schemas/"

// name returns the name of the referenced schema, or "". A nil schema has none.
func (s *schema) name() string {
	if s == nil {
		return ""
	}
	return strings.TrimPrefix(s.Ref, schemasPath)
}

// types returns the names of its types, without null.
func (s *schema) types() []string {
	var all []string
	switch t := s.Type.(type) {
	case string:
		all = append(all, t)
	case []any:
		for _, one := range t {
			all = append(all, fmt.Sprint(one))
		}
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "null" })
}

func (s *schema) nullable() bool {
	all, _ := s.Type.([]any)
	return slices.Contains(all, any("null"))
}

// words returns the words of a text or of its items, closed or not. A nil schema has none.
func (s *schema) words() []string {
	if s == nil {
		return nil
	}
	words := append(slices.Clone(s.Words), s.Items.words()...)
	for _, v := range s.Enum {
		if text, ok := v.(string); ok && text != "" {
			words = append(words, text)
		}
	}
	return words
}

// values returns the schema of the values of a map, or nil.
func (s *schema) values() *schema {
	var values schema
	if len(s.Additional) == 0 || s.Additional[0] != '{' || json.Unmarshal(s.Additional, &values) != nil {
		return nil
	}
	values.interpret()
	return &values
}

// word is a value that programs compare with.
var word = regexp.MustCompile(`^[a-z][a-z_]*$`)

// read reads a document and its operations, by path and method.
func read(text []byte) (document, []operation, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return d, nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	for _, s := range d.Components.Schemas {
		s.interpret()
	}
	for _, item := range d.Paths {
		for _, o := range item {
			for _, p := range o.Parameters {
				p.Schema.interpret()
			}
		}
	}
	d.nameCodes()
	operations, err := d.operations()
	return d, operations, err
}

// interpret sets Words and Time from examples and patterns, also in nested schemas.
func (s *schema) interpret() {
	if s == nil {
		return
	}
	for _, example := range s.Examples {
		if text, ok := example.(string); ok && word.MatchString(text) {
			s.Words = append(s.Words, text)
		}
	}
	if len(s.Words) != len(s.Examples) || s.Enum != nil {
		s.Words = nil // examples of free text
	}
	// A local time, which no instant can stand for, has a pattern with [ Tt].
	s.Time = strings.Contains(s.Pattern, "[Tt ][0-9]{2}:")
	s.Examples, s.Pattern = nil, ""
	s.Items.interpret()
	for _, one := range s.AnyOf {
		one.interpret()
	}
	for _, p := range s.Properties {
		p.interpret()
	}
	if values := s.values(); values != nil {
		// The fields were just decoded, so they can be encoded.
		s.Additional, _ = json.Marshal(values)
	}
}

// codeSchema is the name of the codes. The document has them as a text with examples.
const codeSchema = "Code"

// nameCodes makes the codes a schema.
func (d *document) nameCodes() {
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		code := d.Components.Schemas[name].Properties["code"]
		if code == nil || len(code.Words) == 0 {
			continue
		}
		if d.Components.Schemas[codeSchema] == nil {
			words := slices.Sorted(slices.Values(code.Words))
			d.Components.Schemas[codeSchema] = &schema{Type: "string", Description: "What is wrong. More may be added.", Words: words}
		}
		*code = schema{Ref: schemasPath + codeSchema, Description: code.Description}
	}
}
