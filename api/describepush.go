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

func pushDescriptions() map[string]string {
	return map[string]string{
		"Draft.image":        "An https URL of an image to show, of at most 2,048 bytes.",
		"Draft.click_url":    "What a click opens: an absolute URL of at most 2,048 bytes, of a web page or of a place in the app, such as myapp://orders/17. javascript:, data: and file: are not allowed.",
		"Draft.badge":        "The number at the app's icon. By default it stays as it is.",
		"Draft.sound":        "The name of a sound of the app's: at most 64 characters without control characters.",
		"Draft.priority":     "high if it may wake the device, normal if it may wait until the device is used. By default what the channel does.",
		"Draft.collapse_key": "It replaces a former message with the same key on the device: 1 to 64 printable ASCII characters.",
		"Draft.channels": "What is for one channel alone, by the name of the channel: an object of at most 4,096 bytes in the words of its provider. " +
			"It is checked when the message is submitted, as is the size of the message for that channel.",
		"Draft.to":               "Which of the user's devices it goes to. By default all.",
		"MoveDraft.image":        "The new image; null for none.",
		"MoveDraft.click_url":    "The new click_url; null for none.",
		"MoveDraft.badge":        "The new badge; null to leave the one at the icon.",
		"MoveDraft.sound":        "The new sound; null for none.",
		"MoveDraft.priority":     "The new priority; null for what the channel does.",
		"MoveDraft.collapse_key": "The new collapse_key; null for none.",
		"MoveDraft.channels":     "By the name of a channel a merge patch of what is for it alone, or null to remove that; null instead of an object removes all.",
		"MoveDraft.to":           "Members of to to set, or with null to remove; null instead of an object, or no member left, is all devices.",
		"Status.image":           "Its image; absent where title is.",
		"Status.click_url":       "Its click_url; absent where title is.",
		"Status.badge":           "Its badge; absent where title is.",
		"Status.sound":           "Its sound; absent where title is.",
		"Status.priority":        "Its priority; absent where title is.",
		"Status.collapse_key":    "Its collapse_key; absent where title is.",
		"Status.channels":        "Its channels; absent where title is.",
		"Status.to":              "Which of the user's devices it goes to; absent for all, and where title is.",
		"Status.devices":         "The devices that the message is done with; absent before.",

		"MessageTarget.channel": "The channel of the devices, or a channel without devices as a whole.",
		"MessageTarget.app":     "The app of the devices.",
		"MessageTarget.device":  "The id of one device.",

		"DeviceStatus.device": "The id of the device; @ and its name for a channel without devices.",
		"DeviceStatus.state":  "What became of the message there: delivered; gone, as its provider knows it no more; failed, as its provider does not accept the message; or uncertain.",
	}
}
