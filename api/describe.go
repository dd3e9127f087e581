package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
)

// describe adds to the schemas what their types can't say. A request has bounds, which the
// server checks. Objects in answers may get more members, and nothing in them is null.
func describe(schemas huma.Registry) {
	separateCategories(schemas.Map())
	describeChannels(schemas.Map())
	said := descriptions()
	for name, schema := range schemas.Map() {
		request := requestSchemas(name)
		if !request {
			schema.AdditionalProperties = nil
		}
		for member, property := range schema.Properties {
			property.Nullable = clearable(name, member)
			if property.Description == "" {
				property.Description = descriptionOf(said, name, member)
			}
			if request {
				bind(property, boundsName(name, member), slices.Contains(schema.Required, member))
			}
			if entry, some := property.AdditionalProperties.(*huma.Schema); some && clearable(name, member) {
				entry.Nullable = true // null removes the entry
			}
			addWords(property, name, member, request)
		}
	}
	settings := schemas.Map()["UserSettings"].Properties
	settings["effective"] = orNull(settings["effective"])
	draft := schemas.Map()["Draft"].Properties
	draft["to"] = orNull(draft["to"])
}

// boundsName returns the name by which boundsOf has the bounds of a member of a request.
func boundsName(schema, member string) string {
	switch {
	case schema == "DeviceDraft" && member == "id":
		return "device"
	case schema != "DeviceDraft" && member == "channel":
		return "to.channel"
	}
	return member
}

// clearable reports whether a member of a request takes null, which removes what it names.
func clearable(schema, member string) bool {
	return schema == "MoveDraft" && slices.Contains(message.EditFields(), member)
}

// addWords adds the words that a member can have. Clients must expect more words in
// answers, so there they are examples, unless the set is closed.
func addWords(property *huma.Schema, schema, member string, request bool) {
	words := wordsOf(schema, member)
	switch {
	case len(words) == 0 || property.Ref != "" || request && property.Enum != nil:
	case property.Type == huma.TypeArray:
		property.Examples = []any{words}
	case !request && closed(schema, member):
		for _, word := range words {
			property.Enum = append(property.Enum, word)
		}
	default:
		for _, word := range words {
			property.Examples = append(property.Examples, word)
		}
	}
}

// closed reports whether a member of an answer never gets more words. Callers tell the
// lines of a refit apart by their outcomes.
func closed(schema, member string) bool {
	switch member {
	case "kind":
		return schema != noticeSchema && schema != deadAlertSchema
	case "on_conflict", "unknown_categories", "then":
		return true
	case "from":
		return schema == "EffectiveRule"
	case "outcome":
		return schema == "RefitSummary" || schema == "RefitProgress" || strings.HasPrefix(schema, "User") || strings.HasPrefix(schema, "Campaign")
	}
	return false
}

// requestSchemas reports whether a schema is that of a request, in which an unknown member
// is an error.
func requestSchemas(name string) bool {
	switch name {
	case "Draft", "MoveDraft", targetDraftSchema, "AccountDraft", "AccountPatch", "KeyDraft", "KeyRotation", "CallbackDraft", "SecretRotation", "TierLimits",
		"PolicyDocument", categoryDraftSchema, changeDraftSchema, "PolicyRollback", "SettingsDraft", "SettingsPatch",
		"EventLimitsDraft", "DeviceDraft", "PaceDraft", "CampaignMoveDraft":
		return true
	}
	return false
}

// wordsOf returns words that a member can have.
func wordsOf(schema, member string) []string {
	switch member {
	case "code":
		codes := make([]string, len(web.Kinds()))
		for i, k := range web.Kinds() {
			codes[i] = string(k.Code)
		}
		return codes
	case "kind":
		if schema == noticeSchema || schema == deadAlertSchema {
			return noticeKinds()
		}
		return []string{"sliding", "calendar"}
	case "on_conflict":
		return []string{"refuse", "shift"}
	case "unknown_categories":
		return []string{"refuse", "allow"}
	case "from":
		if schema == "EffectiveRule" {
			return []string{message.FromPolicy, message.FromUser}
		}
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
		case "CampaignSummary":
			return []string{message.CampaignCancelled, message.CampaignMoved, message.CampaignPreviewed, message.CampaignResumed}
		case "CampaignProgress":
			return []string{message.CampaignProgressing}
		case "PolicyDeletion":
			return []string{message.PolicyDeleted}
		case "TierRemoval":
			return []string{message.TierRemoved}
		case "EventLimitsRemoval":
			return []string{message.EventLimitsRemoved}
		case "DeviceChange":
			return []string{message.DeviceAdded, message.DeviceReplaced, message.DeviceUnchanged}
		case "DeviceRemoval":
			return []string{message.DeviceRemoved}
		case "AlertDone":
			return []string{message.Retried, message.Purged}
		case "UserProgress":
			return []string{message.UserProgressing}
		case "UserEntry":
			return []string{message.UserEntryFound}
		case "UserExport":
			return []string{message.UserExported}
		case "UserErasure":
			return []string{message.UserErased}
		}
		return []string{"accepted", "cancelled", "moved", "changed", "recorded", "retried", "purged", "refused", "invalid", "error"}
	case "state":
		if schema == "DeviceStatus" {
			return message.DeviceStates()
		}
	case "priority":
		return []string{message.PriorityHigh, message.PriorityNormal}
	case "channel":
		return message.TargetChannels()
	case "rule":
		return []string{"1/minute", "5/hour", "10/calendar_day"}
	case "change":
		return message.Changes()
	case "scopes":
		return []string{"submit", "read", "admin", "content"}
	case "then":
		return []string{"shift", "cancel"}
	case "status":
		if schema == deadAlertSchema {
			return []string{message.NoticeFailed}
		}
		if schema != "Problem" {
			return []string{
				"scheduled", "postponed", "moved", "sending", "delivered", "dropped", "failed", "uncertain", "cancelled",
			}
		}
	}
	return nil
}

// descriptionOf returns the description of a member: that of the schema's member, or else
// that of all members with the name. What a move has in common with a draft means the same.
func descriptionOf(all map[string]string, schema, member string) string {
	switch schema {
	case "PolicyDocument":
		schema = "Policy"
	case categorySchema:
		schema = categoryDraftSchema
	case changeSchema:
		schema = changeDraftSchema
	case targetDraftSchema:
		schema = targetSchema
	}
	if said, some := all[schema+"."+member]; some {
		return said
	}
	if said, some := all["Draft."+member]; some && schema == "MoveDraft" {
		return said
	}
	return all[member]
}

// descriptions returns the descriptions of all members, by "Schema.member" or "member".
func descriptions() map[string]string {
	all := messageDescriptions()
	maps.Copy(all, policyDescriptions())
	maps.Copy(all, noticeDescriptions())
	maps.Copy(all, deliveryDescriptions())
	maps.Copy(all, pushDescriptions())
	maps.Copy(all, campaignDescriptions())
	return all
}

func messageDescriptions() map[string]string {
	return map[string]string{
		"Draft.id":       "Idempotency key, unique per user: 1 to 128 of A-Z a-z 0-9 . _ : - By default the server generates one.",
		"Draft.user":     "The receiver: 1 to 256 bytes of UTF-8 without control characters.",
		"Draft.send_at":  "When it is sent: RFC 3339 with zone, cut to the millisecond. now means as soon as the rules allow.",
		"Draft.category": "1 to 64 of a-z 0-9 _ -",
		"Draft.title":    "Title, body and data have at most 4,096 bytes together. Title or body is required.",
		"Draft.body":     "See title.",
		"Draft.data":     "Texts by name, for the app that shows the message.",
		"Draft.campaign": "1 to 64 of a-z A-Z 0-9 . _ - What the message belongs to, which can be counted, listed, paused, moved and cancelled as a whole.",
		"Draft.metadata": "Texts by name, the caller's own: at most 8, with at most 512 bytes of names and texts together. A name is 1 to 64 bytes without control characters. " +
			"They go to the push target, and stay with the status after the message has ended.",
		"Draft.expires_at":  "RFC 3339: a message that is still not sent then is dropped. By default a day after send_at. At most 31 days after the latest send time that is accepted.",
		"Draft.on_conflict": "What to do if send_at is not free: refuse the message, or shift it to the next free time. By default what the user's policy says; with send_at now, shift.",
		"Draft.shift_until": "RFC 3339: the last time that a shift may choose. By default a day after send_at. " +
			"Without on_conflict it applies if the user's policy shifts, and has no effect if the policy refuses. With refuse it is not allowed.",
		"MoveDraft.send_at":     "The new send time: RFC 3339 with zone, or now. Required unless there is something else to change.",
		"MoveDraft.title":       "The new title; null for none. Title, body and data have at most 4,096 bytes together. Title or body must remain.",
		"MoveDraft.body":        "The new body; null for none.",
		"MoveDraft.data":        "Entries of data to set, or with null to remove; null instead of an object removes all.",
		"MoveDraft.metadata":    "Entries of metadata to set, or with null to remove; null instead of an object removes all.",
		"MoveDraft.expires_at":  "RFC 3339, after the send time: a message that is still not sent then is dropped. null for a day after send_at.",
		"MoveDraft.on_conflict": "What to do if the new time is not free: refuse, so the message keeps the old one, or shift it to the next free time. By default refuse.",
		"MoveDraft.shift_until": "RFC 3339: the last time that a shift may choose. By default a day after send_at. Only with on_conflict shift.",

		"account":      "The account that is charged for the message; absent without accounts.",
		"id":           "The message's id.",
		"Conflict.id":  "The message's id; absent if it belongs to another account.",
		"user":         "The user's name.",
		"send_at":      "The send time.",
		"requested_at": "The send time that was requested, if it differs from send_at.",
		"promised_at":  "The send time before the message was postponed or sent late, if it differs from send_at.",
		"moved_from":   "The send time before the last move.",
		"shifted":      "The message got the next free time instead of the requested one.",
		"expires_at":   "A message that is still not sent then is dropped.",
		"category":     "Its category.",
		"campaign":     "Its campaign.",
		"metadata":     "Its metadata.",
		"title":        "Its title.",
		"Status.title": "Its title; absent in lists, once it is erased, and for a key that may not see it.",
		"Status.body":  "Its body; absent where title is.",
		"Status.data":  "Its data; absent where title is.",

		"status":        "What became of the message.",
		"delivered_at":  "When its delivery began.",
		"lateness_ms":   "Milliseconds from the promised time to delivered_at.",
		"provider_id":   "The provider's id of the message.",
		"provider_said": "What the provider said of a message that was given up.",
		"ended_at":      "When the message ended without being delivered.",
		"next_try_at":   "When a failed delivery is tried again, or a message that waits for its paused campaign or for a dated change of its policy, or that may have arrived and waits for a free time, is looked at.",
		"attempts":      "The number of delivery attempts.",
		"uncertain":     "Whether an earlier attempt may have arrived.",
		"history":       "The last changes of the message, its accept and its end among them, at most 16, oldest first; absent in lists. A delivery that is running is no change yet.",
		"reason":        "Why the message was dropped, given up or postponed, or why it is tried again. One was dropped as expired, no_free_time, opted_out or no_device. One that was delivered was given up on other devices for that reason.",

		"HistoryEntry.at":      "When it changed. A delivered message was delivered when its delivery began.",
		"HistoryEntry.change":  "What changed. accepted begins a history, and delivered, cancelled, dropped, failed or uncertain ends it. Between them: moved, or changed (content, metadata, expires_at) by a request; postponed as it was late, to now or later; retry of a failed delivery at send_at; taken_over from a worker that died or was cut off; revived from the dead letters; paused when it was due and its campaign was paused; resumed when it waited no longer for its campaign.",
		"HistoryEntry.reason":  "Why; as the reason of a status. One of more than some 20 bytes may be cut.",
		"HistoryEntry.send_at": "The send time after the change; with retry, when delivery is tried again.",
		"HistoryEntry.until":   "Of paused: when the message expires, if its campaign is not resumed before.",
		"former_send_at":       "The send time before the change.",
		"attempt":              "The number of the delivery that failed, was taken over or ended the message.",

		"outcome":             "What was done. With refused, invalid and error nothing was done.",
		"line":                "The line of a batch, from 1.",
		"code":                "What is wrong, as a word for programs.",
		"field":               "The field or parameter that is wrong. If several are wrong, this is the first and detail names all.",
		"replayed":            "The request is a repetition, and this is the answer to the first one.",
		"forgotten":           "The message was recorded, but is older than any rule looks back.",
		"retry_after_seconds": "Seconds until resets_at, if that is the end of the current hour or day; with rate_limited, until the message can be moved again.",
		"resets_at":           "When the quota that is used up starts again.",
		"detail":              "A sentence for a person.",
		"quiet_hours":         "The quiet hours that contain the send time, with the code quiet_hours.",
		"violations":          "Every rule that the message would break, in the order of the policy.",
		"others":              "Whether all or some of the messages in the way are other accounts'; absent if none is, or with the scope admin.",
		"next_free_at":        "The next free time; absent if there is none, or in a batch with without_free_times.",
		"previous_free_at":    "The last free time before the requested one that is not in the past; absent if there is none.",

		"Violation.category":       "The category whose messages the rule counts; absent if it counts all messages.",
		"RuleUsage.category":       "The category whose messages the rule counts; absent if it counts all messages.",
		"QuietHours.hours":         "The quiet hours as in the policy.",
		"QuietHours.time_zone":     "The IANA time zone of the quiet hours.",
		"rule":                     "The rule, as in the policy.",
		"account_limit":            "How many of these one account may have by the policy's account_share. Set if the message's account has as many.",
		"limit":                    "How many messages it allows in its window.",
		"kind":                     "sliding: counts in every window of the length. calendar: counts in natural periods such as days.",
		"window_seconds":           "The length of a sliding rule's window.",
		"conflicts":                "Messages in the way, by time, at most 10.",
		"conflicts_total":          "How many messages are in the way.",
		"used":                     "How many messages are in the window.",
		"from":                     "The begin.",
		"until":                    "The end, which is not included.",
		"Usage.to":                 "The end of the timeline, which is not included.",
		"Usage.at":                 "The time that the usage is about.",
		"Usage.rules":              "How full each rule is.",
		"Usage.free":               "Times in which a message would be accepted.",
		"Usage.opted_out":          "The user does not want the category, so no time is free; absent if the user wants it.",
		"Usage.blocked":            "The user is blocked, so no time is free; absent if the user is not blocked.",
		"Usage.sends":              "Sent and scheduled messages, by time.",
		"Usage.quiet":              "Quiet hours in the timeline; absent if there are none.",
		"Usage.more":               "There are more messages than listed in sends.",
		"Messages.messages":        "Those of one user by send time, then id; those of all users in no particular order.",
		"Found.messages":           "One for each user that has the id, in no particular order.",
		"FreeTime.free_at":         "A time that is free.",
		"DeadLetters.dead_letters": "By the time they ended, the oldest first.",
	}
}
