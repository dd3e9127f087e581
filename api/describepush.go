package api

import (
	"github.com/danielgtaylor/huma/v2"
)

// The schemas of where a message goes.
const (
	targetDraftSchema = "Target"        // in a request
	targetSchema      = "MessageTarget" // in an answer
)

// anys returns texts as values of any type.
func anys(all []string) []any {
	words := make([]any, len(all))
	for i, word := range all {
		words[i] = word
	}
	return words
}

// describeChannels says of what is for single channels that it is an object each, whose members
// are the provider's, and gives where a message goes a schema of its own in answers.
func describeChannels(schemas map[string]*huma.Schema) {
	for _, schema := range schemas {
		if channels, some := schema.Properties["channels"]; some {
			channels.AdditionalProperties = &huma.Schema{Type: huma.TypeObject, AdditionalProperties: &huma.Schema{}}
		}
	}
	schemas[targetSchema] = copied(schemas[targetDraftSchema])
	for name, schema := range schemas {
		if to, some := schema.Properties["to"]; some && to.Ref == schemasPath+targetDraftSchema && !requestSchemas(name) {
			to.Ref = schemasPath + targetSchema
		}
	}
}

// orNull returns a schema that also takes null.
func orNull(property *huma.Schema) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}, Description: property.Description}
}
