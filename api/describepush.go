package api

import (
	"github.com/danielgtaylor/huma/v2"
)

// The schemas of a message's target.
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

// describeChannels describes the settings of each channel as an object with the provider's members.
// In answers, it gives a message's target a separate schema.
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

// orNull returns a schema that also accepts null.
func orNull(property *huma.Schema) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}, Description: property.Description}
}
