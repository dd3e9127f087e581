package generate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Schemas returns a document with the schemas of requests and answers, for openapi-typescript. It
// adds a schema for the query of each operation. x-words has the present values of a text, and
// x-time marks a time in a request.
func Schemas(openAPI []byte) ([]byte, error) {
	d, operations, err := read(openAPI)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(d.Components.Schemas)
	for _, o := range operations {
		if len(o.query) == 0 {
			continue
		}
		query := &schema{Type: "object", Description: "The query of " + o.id + ".", Properties: map[string]*schema{}}
		for _, p := range o.query {
			own := *p.Schema
			own.Description = p.Description
			query.Properties[p.Name] = &own
			if p.Required {
				query.Required = append(query.Required, p.Name)
			}
		}
		all[o.queryType()] = query
	}
	text, err := json.Marshal(map[string]any{
		"openapi": "3.1.0", "info": map[string]string{"title": "sendlimit", "version": "1"},
		"components": map[string]any{"schemas": all},
	})
	if err != nil {
		return nil, fmt.Errorf("write the schemas: %w", err)
	}
	return text, nil
}

// queryType returns the name of the schema of the operation's query.
func (o operation) queryType() string { return upperFirst(o.id) + "Query" }

// typeScriptMethods returns the file with the methods of the TypeScript client.
func typeScriptMethods(operations []operation) string {
	var b strings.Builder
	b.WriteString(`// Written by "make clients" from the OpenAPI document. Do not edit it.

import { Caller, segment } from "./caller.js";
import type { CallOptions, ConditionalOptions, SubmitOptions, Versioned } from "./options.js";
import type { Pages } from "./pages.js";
import type * as api from "./schemas.js";

/** The operations of the API, by the names that the OpenAPI document gives them. */
export abstract class Operations extends Caller {
`)
	for i, o := range operations {
		if o.kind == byHand {
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		o.typescript(&b)
	}
	b.WriteString("}\n")
	return b.String()
}

func (o operation) typescript(b *strings.Builder) {
	b.WriteString("  /**\n")
	for _, line := range wrapped(strings.ReplaceAll(o.doc(), "*/", `*\/`), widest-5) {
		b.WriteString(strings.TrimRight("   * "+line, " ") + "\n")
	}
	b.WriteString("   */\n")

	var parameters []string
	path := o.path
	for _, name := range o.segments {
		parameters = append(parameters, name+": string")
		path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprintf("${segment(%q, %s)}", name, name))
	}
	request := fmt.Sprintf("method: %q, path: `%s`", o.method, path)
	if o.body != "" {
		parameters = append(parameters, "body: api."+o.body)
		request += ", body"
	}
	if len(o.query) > 0 {
		argument := "query: api." + o.queryType()
		if !slices.ContainsFunc(o.query, func(p parameter) bool { return p.Required }) {
			argument += " = {}"
		}
		parameters = append(parameters, argument)
		request += ", query: { ...query }"
	}
	if o.keyed {
		request += ", keyed: true"
	}
	if !o.repeatable {
		request += ", once: true"
	}
	options := "CallOptions"
	switch {
	case o.conditional:
		options = "ConditionalOptions"
	case o.keyed:
		options = "SubmitOptions"
	}
	parameters = append(parameters, "options: "+options+" = {}")

	answer, call := "api."+o.answer, ""
	switch o.kind {
	case value:
		call = "value"
		if o.versioned {
			answer, call = answer+" & Versioned", "versioned"
		}
		answer = "Promise<" + answer + ">"
	case pages:
		answer, call = fmt.Sprintf("Pages<%s, api.%s>", answer, o.entry), "pages"
		request += fmt.Sprintf(", member: %q", o.member)
	case lines:
		answer, call = "AsyncGenerator<api."+strings.Join(o.lines, " | api.")+", void, undefined>", "lines"
	case byHand: // left out by the caller
	}
	fmt.Fprintf(b, "  %s(%s): %s {\n", o.id, strings.Join(parameters, ", "), answer)
	fmt.Fprintf(b, "    return this.%s({ %s }, options);\n  }\n", call, request)
}
