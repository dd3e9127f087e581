package api

import (
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
	for name, schema := range schemas.Map() {
		request := requestSchemas(name)
		if !request {
			schema.AdditionalProperties = nil
		}
		for member, property := range schema.Properties {
			property.Nullable = clearable(name, member)
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
