package api

import (
	"maps"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// describe says of the schemas what their types can't. Objects in answers may
// get more members, and a list is never null.
func describe(schemas huma.Registry) {
	for name, schema := range schemas.Map() {
		if !requestSchemas(name) {
			schema.AdditionalProperties = nil
		}
		for member, property := range schema.Properties {
			property.Nullable = property.Nullable && name == settingsPatchSchema // where null says something
			if property.Description == "" {
				property.Description = descriptionOf(name, member)
			}
			for _, word := range wordsOf(name, member) {
				property.Examples = append(property.Examples, word)
			}
		}
	}
	schemas.Map()[draftSchema].AnyOf = []*huma.Schema{{Required: []string{"title"}}, {Required: []string{"body"}}}
	settings := schemas.Map()["UserSettings"].Properties
	settings["effective"] = &huma.Schema{
		AnyOf: []*huma.Schema{{Ref: settings["effective"].Ref}, {Type: "null"}}, Description: settings["effective"].Description,
	}
}

const (
	draftSchema         = "Draft"
	settingsPatchSchema = "SettingsPatch"
)

// requestSchemas reports whether a schema is that of a body that is taken, in
// which an unknown member is an error.
func requestSchemas(name string) bool {
	switch name {
	case draftSchema, "MoveDraft", "AccountDraft", "AccountPatch", "KeyDraft", "TierLimits",
		"PolicyDocument", "SettingsDraft", settingsPatchSchema:
		return true
	}
	return false
}

// wordsOf are those that a member takes or has. More may come, so they are
// examples.
func wordsOf(schema, member string) []string {
	switch member {
	case "code":
		codes := make([]string, len(web.Kinds()))
		for i, k := range web.Kinds() {
			codes[i] = string(k.Code)
		}
		return codes
	case "kind":
		return []string{"sliding", "calendar"}
	case "on_conflict":
		return []string{"refuse", "shift"}
	case "breaks":
		return []string{"10/calendar_day", "marketing 2/calendar_day", "quiet_hours"}
	case "outcome":
		switch schema {
		case "Misfit":
			return []string{message.MisfitFound, message.Moved, message.Cancelled, message.MisfitKept, message.MisfitGone}
		case "RefitSummary":
			return []string{message.Previewed, message.Refitted}
		case "RefitProgress":
			return []string{message.RefitProgressing}
		}
		return []string{"accepted", "cancelled", "moved", "retried", "purged", "refused", "invalid", "error"}
	case "rule":
		return []string{"1/minute", "5/hour", "10/calendar_day"}
	case "scopes":
		return []string{"submit", "read", "admin"}
	case "then":
		return []string{"shift", "cancel"}
	case "status":
		if schema != "Problem" {
			return []string{
				"scheduled", "postponed", "moved", "sending", "delivered", "dropped", "failed", "uncertain", "cancelled",
			}
		}
	}
	return nil
}

// descriptionOf says what a member is: of a schema by its name, or of all that
// have it.
func descriptionOf(schema, member string) string {
	if schema == "PolicyDocument" {
		schema = "Policy"
	}
	all := descriptions()
	maps.Copy(all, policyDescriptions())
	if said, some := all[schema+"."+member]; some {
		return said
	}
	return all[member]
}

func descriptions() map[string]string {
	return map[string]string{
		"Draft.id":          "Idempotency key, unique per user: 1 to 128 of A-Z a-z 0-9 . _ : - Made up where it is absent.",
		"Draft.user":        "Who gets it: 1 to 256 bytes of UTF-8 without control characters.",
		"Draft.send_at":     "When it is sent: RFC 3339 with zone, cut to the millisecond, or now, as soon as the rules allow.",
		"Draft.category":    "1 to 64 of a-z 0-9 _ -",
		"Draft.title":       "Title, body and data have 4,096 bytes together; title or body has to be there.",
		"Draft.body":        "As title.",
		"Draft.data":        "Texts by name, for the app that shows the message.",
		"Draft.expires_at":  "RFC 3339: after it the message is dropped rather than sent. By default a day after send_at.",
		"Draft.on_conflict": "refuse, or shift: take the next free time. By default what the user's policy says; with send_at now, shift.",
		"Draft.shift_until": "RFC 3339: the last time that a shift may take. By default a day after send_at. " +
			"Without on_conflict it bounds the shift of a policy that shifts, and has no effect where it refuses; beside refuse it is not allowed.",
		"MoveDraft.send_at": "The new send time: RFC 3339 with zone, or now.",

		"account":      "The account that was charged for it; absent without accounts.",
		"id":           "The message's id.",
		"Conflict.id":  "The message's id; absent where it is another account's.",
		"user":         "The user's name.",
		"send_at":      "The send time, to come or past.",
		"requested_at": "The send time that was asked for, where it is another.",
		"promised_at":  "The send time before the message was postponed or sent late, where it is another.",
		"moved_from":   "The send time before the last move.",
		"shifted":      "The next free time was taken in place of the one asked for.",
		"expires_at":   "After it the message is dropped rather than sent.",
		"category":     "Its category.",
		"title":        "Its title.",
		"body":         "Its body.",
		"data":         "Its data.",

		"status":       "What became of the message.",
		"delivered_at": "When its delivery began.",
		"lateness_ms":  "By how much that was after the time promised, in milliseconds.",
		"provider_id":  "The provider's name for it.",
		"ended_at":     "When it ended, unless it was delivered.",
		"next_try_at":  "When a delivery that failed is tried again.",
		"attempts":     "Deliveries tried.",
		"uncertain":    "Whether a try before may have arrived, though nobody knows.",
		"reason":       "Why it was dropped, given up, postponed or is tried again.",

		"outcome":             "What was done, or that nothing was: refused, invalid or error.",
		"line":                "The line of a batch, from 1.",
		"code":                "What is wrong, for programs.",
		"field":               "The field or parameter that is not allowed as it is; the first of several, which detail names all.",
		"replayed":            "The request was done before, and has its first answer again.",
		"forgotten":           "It was recorded, and is older than any rule looks back.",
		"retry_after_seconds": "In how many seconds that is, where it is the present hour or day.",
		"resets_at":           "When the quota that is used up counts anew.",
		"detail":              "A sentence for a person.",
		"quiet_hours":         "Of quiet_hours: the quiet stretch that the send time is in.",
		"violations":          "Every rule that would break, in the policy's order.",
		"next_free_at":        "The next time that breaks no rule; absent where there is none.",
		"previous_free_at":    "The last time before that breaks no rule and is not past; absent where there is none.",

		"Violation.category":       "The category whose messages the rule counts; absent of a rule that counts all.",
		"RuleUsage.category":       "The category whose messages the rule counts; absent of a rule that counts all.",
		"QuietHours.hours":         "As the policy has them.",
		"QuietHours.time_zone":     "The IANA time zone whose clocks they go by.",
		"rule":                     "The rule, as the policy spells it.",
		"limit":                    "How many messages it allows in its window.",
		"kind":                     "sliding, of any stretch of a length, or calendar, of natural periods.",
		"window_seconds":           "The length of a sliding rule's window.",
		"conflicts":                "The messages in the way, by time, at most 10.",
		"conflicts_total":          "How many messages are in the way.",
		"used":                     "How many messages the window has.",
		"from":                     "Where it begins.",
		"until":                    "Where it ends, and itself not in it.",
		"Usage.to":                 "Where the timeline ends, and itself not in it.",
		"Usage.at":                 "The time that the rules were looked at around.",
		"Usage.rules":              "How full each rule is.",
		"Usage.free":               "The stretches in which a message would be accepted.",
		"Usage.blocked":            "Nothing more is accepted for the user, and so nothing is free; absent where that is not so.",
		"Usage.sends":              "Messages sent and to be sent, by time.",
		"Usage.quiet":              "The stretches that are quiet hours; absent where there are none.",
		"Usage.more":               "There are more sends than those.",
		"Messages.messages":        "Ascending by send time, then id.",
		"FreeTime.free_at":         "A time that is free.",
		"DeadLetters.dead_letters": "Ascending by the time they ended.",
	}
}
