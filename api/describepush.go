package api

import (
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
)

// The schemas of where a message goes.
const (
	targetDraftSchema = "Target"        // in a request
	targetSchema      = "MessageTarget" // in an answer
)

// pushBoundsOf is boundsOf for what a message says for devices.
func pushBoundsOf(member string) *huma.Schema {
	switch member {
	case "image":
		return &huma.Schema{Pattern: `[hH][tT][tT][pP][sS]:[^\s]+`, MaxLength: new(message.MaxURL)}
	case "click_url":
		return &huma.Schema{Pattern: `[A-Za-z][A-Za-z0-9+.-]*:[^\s]+`, MaxLength: new(message.MaxURL)}
	case "badge":
		return &huma.Schema{Minimum: new(0.0), Maximum: new(float64(message.MaxBadge))}
	case "sound":
		return &huma.Schema{MaxLength: new(message.MaxSound)}
	case "priority":
		return &huma.Schema{Enum: []any{message.PriorityHigh, message.PriorityNormal}}
	case "collapse_key":
		return &huma.Schema{Pattern: fmt.Sprintf(`[ -~]{1,%d}`, message.MaxCollapseKey)}
	case "channels":
		return &huma.Schema{Extensions: map[string]any{"propertyNames": &huma.Schema{Enum: words(message.DeviceChannels())}}}
	case "to.channel":
		return &huma.Schema{Enum: words(message.TargetChannels())}
	}
	return nil
}

func words(all []string) []any {
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
