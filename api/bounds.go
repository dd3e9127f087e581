package api

import (
	"fmt"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/channels"
)

// The texts that requests accept. A schema may accept what the server refuses, since a
// pattern can't know the days of a month or the zones of the world. It must never refuse
// what the server accepts.
const (
	localPattern    = `[0-9]{4}-[0-9]{2}-[0-9]{2}[ Tt][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?`
	timePattern     = `[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)? ?([Zz]|UTC|[+-][0-9]{2}(:?[0-9]{2})?)`
	namePattern     = `[a-z0-9_-]{1,64}`
	campaignPattern = `[A-Za-z0-9._-]{1,64}`
	metadataPattern = `[^\x00-\x1f\x7f-\x9f]+`
	userPattern     = `[^\x00-\x20\x7f-\xa0]([^\x00-\x1f\x7f-\xa0]*[^\x00-\x20\x7f-\xa0])?`
	contactPattern  = `[hH][tT][tT][pP][sS]:[!-~]+|[!-~]+@[!-~]+`
	callbackURL     = `[hH][tT][tT][pP][sS]?://[!-~]+`
	whsecPattern    = `whsec_[A-Za-z0-9+/]+={0,2}`
	zonePattern     = `[A-Za-z0-9._+/-]+`
	durationPattern = `[0-9]+d|\+?([0-9.]+([nuµμm]?s|m|h))+`
	movePattern     = `[+-]?([0-9.]+([nuµμm]?s|m|h))+`
	overlapPattern  = `([0-9]+d)?([+-]?([0-9.]+([nuµμm]?s|m|h))+|[+-]?0)?`
	rulePattern     = `(1000|[1-9][0-9]{0,2})/(calendar_(minute|hour|day|week|month)|minute|hour|day|week|` + durationPattern + `)`
	ratePattern     = `(100000|[1-9][0-9]{0,4})/(second|minute|hour|day|\+?([0-9.]+([nuµμm]?s|m|h))+)`
	sharePattern    = `[1-9][0-9]?%`
	throttlePattern = `(1000000|[1-9][0-9]{0,5})/(minute|hour)`
	blackoutPattern = `([0-9]{4}-)?[0-9]{2}-[0-9]{2}(\.\.([0-9]{4}-)?[0-9]{2}-[0-9]{2})?|` + calendarPattern
	calendarPattern = `[a-z_-][a-z0-9_-]{0,63}`
	quietPattern    = `([a-z,-]+ )?[0-2][0-9]:[0-5][0-9]-[0-2][0-9]:[0-5][0-9]`
	devicePattern   = `[A-Za-z0-9._-]{1,64}`
	localePattern   = `[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8})*([.@].*)?`
	clockPattern    = `([01][0-9]|2[0-3]):[0-5][0-9]`
)

// bounds has the server's checks of members of requests, by name. It leaves out members that are
// only checked for their type. A pattern has no anchors, and must match the whole text.
var bounds = sync.OnceValue(func() map[string]*huma.Schema { //nolint:globals // a constant table
	text := func(pattern string, most int) *huma.Schema {
		if most == 0 {
			return &huma.Schema{Pattern: pattern}
		}
		return &huma.Schema{Pattern: pattern, MaxLength: &most}
	}
	list := func(pattern string, most int, unique bool) *huma.Schema {
		items := &huma.Schema{Type: huma.TypeString, Pattern: whole(pattern)}
		return &huma.Schema{Items: items, MaxItems: &most, UniqueItems: unique}
	}
	number := func(most float64) *huma.Schema { return &huma.Schema{Minimum: new(0.0), Maximum: &most} }
	oneOf := func(words ...string) *huma.Schema { return &huma.Schema{Enum: anys(words)} }
	names := func(schema *huma.Schema) map[string]any { return map[string]any{"propertyNames": schema} }
	named := func(pattern string) map[string]any { return names(&huma.Schema{Pattern: whole(pattern)}) }
	percent := &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(100.0)}
	weight := &huma.Schema{Type: huma.TypeInteger, Minimum: new(0.0), Maximum: new(float64(policy.MaxWeight))}
	scope := oneOf(string(accounts.ScopeSubmit), string(accounts.ScopeRead), string(accounts.ScopeAdmin), string(accounts.ScopeContent))
	scope.Type = huma.TypeString
	all := make(map[string]*huma.Schema)
	for _, row := range []struct {
		members string
		bounds  *huma.Schema
	}{
		{"id", text(fmt.Sprintf(`[A-Za-z0-9._:-]{1,%d}`, keyspace.MaxID), 0)},
		{"user", text(userPattern, keyspace.MaxUser)},
		{"send_at window.from", text("now|"+timePattern, 0)},
		{"window.prefer", oneOf(string(policy.PreferEarliest), string(policy.PreferLatest), string(policy.PreferNearest), string(policy.PreferSpread), string(policy.PreferBest))},
		{"expires_at shift_until do_not_disturb_until window.until", text(timePattern, 0)},
		{"name account tier policy category event", text(namePattern, 0)},
		{"campaign", text(campaignPattern, 0)},
		{"title body", &huma.Schema{MaxLength: new(message.MaxContent)}},
		{"on_conflict", oneOf(message.OnConflictRefuse, message.OnConflictShift)},
		{"then", oneOf(message.ThenKeep, message.ThenShift, message.ThenDrop)},
		{"late", text("refuse|now|"+durationPattern, 0)},
		{"shift_spread", text(durationPattern, 0)},
		{"unknown_categories", oneOf(string(policy.RefuseUnknown), string(policy.AllowUnknown))},
		{"contact alert_to", text(contactPattern, policy.MaxContact)},
		{"url", text(callbackURL, accounts.MaxEventsURL)},
		{"secret", text(whsecPattern, 0)},
		{"time_zone zone", text(zonePattern, 0)},
		{"local", text(localPattern, 0)},
		{"report_at", text(clockPattern, 0)},
		{"reach", text(durationPattern, 0)},
		{"overlap wait older_than", text(overlapPattern, 0)},
		{"by", text(movePattern, 0)},
		{"account_share", text(sharePattern, 0)},
		{"throttle", text(throttlePattern, 0)},
		{whatIfRules, text("("+rulePattern+")(,("+rulePattern+"))*", 0)},
		{"rate", text(ratePattern, 0)},
		{"reason", text(`.*\S.*`, channels.MaxSendingReason)},
		// Devices.
		{"device app", text(devicePattern, 0)},
		{"channel", oneOf(devices.FCM, devices.APNs, devices.WebPush)},
		{"subscription", &huma.Schema{MaxProperties: new(message.MaxSubscription)}},
		{"token", text("[!-~]+", devices.MaxAddress)},
		{"locale", text(localePattern, devices.MaxLocale)},
		// What a message says for devices.
		{"image", text(`[hH][tT][tT][pP][sS]:[^\s]+`, message.MaxURL)},
		{"click_url", text(`[A-Za-z][A-Za-z0-9+.-]*:[^\s]+`, message.MaxURL)},
		{"badge", number(message.MaxBadge)},
		{"sound", &huma.Schema{MaxLength: new(message.MaxSound)}},
		{"priority", oneOf(message.PriorityHigh, message.PriorityNormal)},
		{"collapse_key", text(fmt.Sprintf(`[ -~]{1,%d}`, message.MaxCollapseKey), 0)},
		{"channels", &huma.Schema{Extensions: names(oneOf(message.DeviceChannels()...))}},
		{"to.channel", oneOf(message.TargetChannels()...)},
		// Lists, objects and numbers.
		{"metadata", &huma.Schema{
			AdditionalProperties: &huma.Schema{Type: huma.TypeString, MaxLength: new(message.MaxMetadataBytes)},
			MaxProperties:        new(message.MaxMetadata),
			Extensions:           names(text(whole(metadataPattern), message.MaxMetadataKey)),
		}},
		{"data", &huma.Schema{AdditionalProperties: &huma.Schema{Type: huma.TypeString, MaxLength: new(message.MaxContent)}}},
		{"rules limits", list(rulePattern, policy.MaxRules, true)},
		{"quiet_hours only", list(quietPattern, policy.MaxHours, false)},
		{"blackouts", list(blackoutPattern, policy.MaxBlackouts, false)},
		{"calendars", &huma.Schema{MaxProperties: new(policy.MaxCalendars), Extensions: named(calendarPattern)}},
		{"changes", &huma.Schema{MaxItems: new(policy.MaxChanges)}},
		{"opt_out", list(namePattern, policy.MaxCategories, true)},
		{"categories", &huma.Schema{MaxProperties: new(policy.MaxCategories), Extensions: named(namePattern)}},
		{"best_hours", &huma.Schema{Items: weight, MaxItems: new(policy.HoursOfWeek)}},
		{"alert_at", &huma.Schema{Items: percent, MaxItems: new(100), UniqueItems: true}},
		{"scopes", &huma.Schema{Items: scope, MinItems: new(1), UniqueItems: true}},
		{"requests_per_minute requests_per_day lines_per_minute messages_per_hour messages_per_day devices", number(accounts.MaxTierLimit)},
		{"per_minute per_hour per_day", number(counters.MaxLimit)},
		{"burst", number(rate.MaxCount)},
	} {
		for member := range strings.FieldsSeq(row.members) {
			all[member] = row.bounds
		}
	}
	return all
})

// bind adds the server's checks to a member of a request. A member that is not required may be null
// or an empty text, which is the same as absent. An empty id is an error, since a caller sends it
// on purpose.
func bind(schema *huma.Schema, member string, required bool) {
	if b := bounds()[member]; b != nil {
		empty := !required && member != "id"
		schema.Pattern, schema.Enum = b.Pattern, b.Enum
		schema.MaxLength, schema.Minimum, schema.Maximum = b.MaxLength, b.Minimum, b.Maximum
		schema.MinItems, schema.MaxItems, schema.UniqueItems = b.MinItems, b.MaxItems, b.UniqueItems
		schema.MaxProperties, schema.Extensions = b.MaxProperties, b.Extensions
		if b.Items != nil {
			schema.Items = b.Items
		}
		if b.AdditionalProperties != nil {
			schema.AdditionalProperties = b.AdditionalProperties
		}
		if empty && schema.Enum != nil {
			schema.Enum = append(schema.Enum, "", nil)
		}
		if schema.Pattern != "" {
			if empty {
				schema.Pattern = "(" + schema.Pattern + ")?"
			}
			schema.Pattern = whole(schema.Pattern)
		}
		if required && schema.Type == huma.TypeArray { // the server misses an empty list
			schema.MinItems = new(1)
		}
	}
	schema.Nullable = !required
}

// whole returns a pattern that matches only whole texts.
func whole(pattern string) string { return "^(" + pattern + ")$" }

// parameterSchema returns the schema of a parameter with the bounds of a member.
func parameterSchema(member string) *huma.Schema {
	schema := &huma.Schema{Type: huma.TypeString}
	bind(schema, member, true)
	return schema
}
