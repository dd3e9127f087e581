package api

import (
	"reflect"
	"slices"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
)

// describe adds to the schemas what their types can't express, such as the bounds of requests.
// Objects in answers may get more members, and contain no null.
func describe(schemas huma.Registry) {
	separateCategories(schemas.Map())
	local := schemas.Schema(reflect.TypeFor[message.LocalTime](), true, "LocalTime")
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
				removed := *entry
				removed.Nullable = true // null removes the entry
				property.AdditionalProperties = &removed
			}
			addWords(property, name, member, request)
		}
	}
	settings := schemas.Map()["UserSettings"].Properties
	settings["effective"] = orNull(settings["effective"])
	for _, name := range []string{"Draft", putDraftSchema} {
		draft := schemas.Map()[name].Properties
		draft["to"], draft["window"] = orNull(draft["to"]), orNull(draft["window"])
	}
	for _, name := range []string{"Draft", putDraftSchema, "MoveDraft", "WindowDraft"} {
		properties := schemas.Map()[name].Properties
		for _, member := range []string{"send_at", "expires_at", "shift_until", "from", "until"} {
			if properties[member] != nil {
				properties[member] = orLocal(properties[member], local)
			}
		}
	}
}

// orLocal returns a schema for a time that also accepts a local time.
func orLocal(at, local *huma.Schema) *huma.Schema {
	text := *at
	text.Description = ""
	return &huma.Schema{AnyOf: []*huma.Schema{&text, local}, Description: at.Description}
}

// boundsName returns the name in bounds for a member of a request.
func boundsName(schema, member string) string {
	switch {
	case schema == "DeviceDraft" && member == "id":
		return "device"
	case schema != "DeviceDraft" && member == "channel":
		return "to.channel"
	case schema == "WindowDraft":
		return "window." + member
	}
	return member
}

// clearable reports whether a member of a request accepts null, which removes its value.
func clearable(schema, member string) bool {
	return schema == "MoveDraft" && slices.Contains(message.EditFields(), member)
}

// addWords adds the possible words of a member. Clients must expect more words in answers, so there
// they are examples, unless the set is closed.
func addWords(property *huma.Schema, schema, member string, request bool) {
	key := schema + "." + member
	words, own := knownWords()[key]
	if !own {
		key = member
		words = knownWords()[key]
	}
	switch {
	case len(words) == 0 || property.Ref != "" || request && property.Enum != nil:
	case property.Type == huma.TypeArray:
		property.Examples = []any{words}
	case !request && slices.Contains(closedWords(), key):
		property.Enum = append(property.Enum, anys(words)...)
	default:
		property.Examples = append(property.Examples, anys(words)...)
	}
}

// closedWords are the members of answers that never get more words. Callers tell the lines of an
// answer apart by their outcomes.
func closedWords() []string {
	return []string{
		"kind", "on_conflict", "unknown_categories", "then", "EffectiveRule.from", "RefitSummary.outcome", "RefitProgress.outcome",
		"UserProgress.outcome", "UserEntry.outcome", "UserExport.outcome", "UserErasure.outcome", "CampaignSummary.outcome", "CampaignProgress.outcome",
	}
}

// requestSchemas reports whether a schema is that of a request, which refuses unknown members.
func requestSchemas(name string) bool {
	switch name {
	case "Draft", putDraftSchema, "MoveDraft", "WindowDraft", "LocalTime", targetDraftSchema, "AccountDraft", "AccountPatch", "KeyDraft", "KeyRotation", "CallbackDraft", "SecretRotation", "TierLimits",
		"PolicyDocument", categoryDraftSchema, changeDraftSchema, "PolicyRollback", "SettingsDraft", "SettingsPatch",
		"EventLimitsDraft", "DeviceDraft", "PaceDraft", "SendingStopDraft", "CampaignMoveDraft":
		return true
	}
	return false
}

// knownWords has the words that members can have: of all schemas, or of one.
var knownWords = sync.OnceValue(func() map[string][]string { //nolint:globals // a constant table
	codes := make([]string, len(web.Kinds()))
	for i, k := range web.Kinds() {
		codes[i] = string(k.Code)
	}
	return map[string][]string{
		"code":                       codes,
		"kind":                       {"sliding", "calendar"},
		noticeSchema + ".kind":       noticeKinds(),
		deadAlertSchema + ".kind":    noticeKinds(),
		"on_conflict":                {"refuse", "shift"},
		"prefer":                     {"earliest", "latest", "nearest", "spread", "best"},
		"unknown_categories":         {"refuse", "allow"},
		"EffectiveRule.from":         {message.FromPolicy, message.FromUser},
		"breaks":                     {"10/calendar_day", "marketing 2/calendar_day", "quiet_hours"},
		"outcome":                    {"accepted", "replaced", "cancelled", "moved", "changed", "recorded", "retried", "purged", "refused", "invalid", "error"},
		"Misfit.outcome":             {message.MisfitFound, message.Moved, message.Cancelled, message.MisfitKept, message.MisfitGone},
		"RefitSummary.outcome":       {message.DryRun, message.Refitted},
		"RefitProgress.outcome":      {message.RefitProgressing},
		"CampaignSummary.outcome":    {message.CampaignCancelled, message.CampaignMoved, message.CampaignDryRun, message.CampaignResumed},
		"CampaignProgress.outcome":   {message.CampaignProgressing},
		"PolicyDeletion.outcome":     {message.PolicyDeleted},
		"TierRemoval.outcome":        {message.TierRemoved},
		"EventLimitsRemoval.outcome": {message.EventLimitsRemoved},
		"DeviceChange.outcome":       {message.DeviceAdded, message.DeviceReplaced, message.DeviceUnchanged},
		"DeviceRemoval.outcome":      {message.DeviceRemoved},
		"AlertDone.outcome":          {message.Retried, message.Purged},
		"UserProgress.outcome":       {message.UserProgressing},
		"UserEntry.outcome":          {message.UserEntryFound},
		"UserExport.outcome":         {message.UserExported},
		"UserErasure.outcome":        {message.UserErased},
		"DeviceStatus.state":         message.DeviceStates(),
		"priority":                   {message.PriorityHigh, message.PriorityNormal},
		"channel":                    message.TargetChannels(),
		"rule":                       {"1/minute", "5/hour", "10/calendar_day"},
		"change":                     message.Changes(),
		"scopes":                     {"submit", "read", "admin", "content"},
		"then":                       {"shift", "cancel"},
		"FollowThrough.then":         {message.ThenKeep, message.ThenShift, message.ThenDrop},
		"status":                     {"scheduled", "postponed", "moved", "sending", "delivered", "dropped", "failed", "uncertain", "cancelled"},
		deadAlertSchema + ".status":  {message.NoticeFailed},
		"Problem.status":             nil, // that of HTTP
	}
})
