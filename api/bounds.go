package api

import (
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
)

// The texts that requests accept. A schema may accept what the server refuses, since a
// pattern can't know the days of a month or the zones of the world. It must never refuse
// what the server accepts.
const (
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

func idPattern() string { return fmt.Sprintf(`[A-Za-z0-9._:-]{1,%d}`, keyspace.MaxID) }

// boundsOf returns what the server checks of a member of a request, by the member's name;
// nil if that is only its type. A pattern is for the whole text, and has no anchors.
func boundsOf(member string) *huma.Schema {
	switch member {
	case "id":
		return &huma.Schema{Pattern: idPattern()}
	case "user":
		return &huma.Schema{Pattern: userPattern, MaxLength: new(keyspace.MaxUser)}
	case "send_at":
		return &huma.Schema{Pattern: "now|" + timePattern}
	case "expires_at", "shift_until":
		return &huma.Schema{Pattern: timePattern}
	case "name", "account", "tier", "policy", "category", "event":
		return &huma.Schema{Pattern: namePattern}
	case "campaign":
		return &huma.Schema{Pattern: campaignPattern}
	case "metadata":
		return &huma.Schema{
			AdditionalProperties: &huma.Schema{Type: huma.TypeString, MaxLength: new(message.MaxMetadataBytes)},
			MaxProperties:        new(message.MaxMetadata),
			Extensions: map[string]any{"propertyNames": &huma.Schema{
				Pattern: whole(metadataPattern), MaxLength: new(message.MaxMetadataKey),
			}},
		}
	case "title", "body":
		return &huma.Schema{MaxLength: new(message.MaxContent)}
	case "data":
		return &huma.Schema{AdditionalProperties: &huma.Schema{Type: huma.TypeString, MaxLength: new(message.MaxContent)}}
	case "on_conflict":
		return &huma.Schema{Enum: []any{message.OnConflictRefuse, message.OnConflictShift}}
	case "unknown_categories":
		return &huma.Schema{Enum: []any{string(policy.RefuseUnknown), string(policy.AllowUnknown)}}
	case "contact", "alert_to":
		return &huma.Schema{Pattern: contactPattern, MaxLength: new(policy.MaxContact)}
	case "url":
		return &huma.Schema{Pattern: callbackURL, MaxLength: new(accounts.MaxEventsURL)}
	case "secret":
		return &huma.Schema{Pattern: whsecPattern}
	case "time_zone":
		return &huma.Schema{Pattern: zonePattern}
	case "report_at":
		return &huma.Schema{Pattern: clockPattern}
	case "reach":
		return &huma.Schema{Pattern: durationPattern}
	case "overlap", "wait", "older_than":
		return &huma.Schema{Pattern: overlapPattern}
	case "by":
		return &huma.Schema{Pattern: movePattern}
	case "account_share":
		return &huma.Schema{Pattern: sharePattern}
	case "throttle":
		return &huma.Schema{Pattern: throttlePattern}
	case whatIfRules:
		return &huma.Schema{Pattern: "(" + rulePattern + ")(,(" + rulePattern + "))*"}
	case "rate":
		return &huma.Schema{Pattern: ratePattern}
	}
	if b := deviceBoundsOf(member); b != nil {
		return b
	}
	if b := pushBoundsOf(member); b != nil {
		return b
	}
	return listBoundsOf(member)
}

// deviceBoundsOf is boundsOf for members of a device.
func deviceBoundsOf(member string) *huma.Schema {
	switch member {
	case "device", "app":
		return &huma.Schema{Pattern: devicePattern}
	case "channel":
		return &huma.Schema{Enum: []any{devices.FCM, devices.APNs, devices.WebPush}}
	case "subscription":
		return &huma.Schema{MaxProperties: new(message.MaxSubscription)}
	case "token":
		return &huma.Schema{Pattern: "[!-~]+", MaxLength: new(devices.MaxAddress)}
	case "locale":
		return &huma.Schema{Pattern: localePattern, MaxLength: new(devices.MaxLocale)}
	}
	return nil
}

// listBoundsOf is boundsOf for members that are lists, objects or numbers.
func listBoundsOf(member string) *huma.Schema {
	text := func(pattern string) *huma.Schema { return &huma.Schema{Type: huma.TypeString, Pattern: whole(pattern)} }
	switch member {
	case "rules", "limits":
		return &huma.Schema{Items: text(rulePattern), MaxItems: new(policy.MaxRules), UniqueItems: true}
	case "quiet_hours", "only":
		return &huma.Schema{Items: text(quietPattern), MaxItems: new(policy.MaxHours)}
	case "blackouts":
		return &huma.Schema{Items: text(blackoutPattern), MaxItems: new(policy.MaxBlackouts)}
	case "calendars":
		return &huma.Schema{
			MaxProperties: new(policy.MaxCalendars),
			Extensions:    map[string]any{"propertyNames": &huma.Schema{Pattern: whole(calendarPattern)}},
		}
	case "changes":
		return &huma.Schema{MaxItems: new(policy.MaxChanges)}
	case "opt_out":
		return &huma.Schema{Items: text(namePattern), MaxItems: new(policy.MaxCategories), UniqueItems: true}
	case "categories":
		return &huma.Schema{
			MaxProperties: new(policy.MaxCategories),
			Extensions:    map[string]any{"propertyNames": &huma.Schema{Pattern: whole(namePattern)}},
		}
	case "alert_at":
		percent := &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(100.0)}
		return &huma.Schema{Items: percent, MaxItems: new(100), UniqueItems: true}
	case "scopes":
		scope := &huma.Schema{Type: huma.TypeString, Enum: []any{
			string(accounts.ScopeSubmit), string(accounts.ScopeRead), string(accounts.ScopeAdmin), string(accounts.ScopeContent),
		}}
		return &huma.Schema{Items: scope, MinItems: new(1), UniqueItems: true}
	case "requests_per_minute", "requests_per_day", "lines_per_minute", "messages_per_hour", "messages_per_day", "devices":
		return &huma.Schema{Minimum: new(0.0), Maximum: new(float64(accounts.MaxTierLimit))}
	case "per_minute", "per_hour", "per_day":
		return &huma.Schema{Minimum: new(0.0), Maximum: new(float64(counters.MaxLimit))}
	case "burst":
		return &huma.Schema{Minimum: new(0.0), Maximum: new(float64(rate.MaxCount))}
	}
	return nil
}

// bind adds to a member of a request what the server checks. A member that is not required
// may be null, which is as if it were absent. An empty text is so too, but for an id: a
// caller who sends one means it.
func bind(schema *huma.Schema, member string, required bool) {
	if b := boundsOf(member); b != nil {
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

// parameterSchema returns the schema of a parameter with the bounds of a member, which it
// has too.
func parameterSchema(member string) *huma.Schema {
	schema := &huma.Schema{Type: huma.TypeString}
	bind(schema, member, true)
	return schema
}
