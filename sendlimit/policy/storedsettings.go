package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// Fields of a user's settings in the store, in the order of lua/setting/settings_change.lua. The
// version comes last.
const (
	fieldContact = "contact"
	fieldPolicy  = "policy"
	fieldLimits  = "limits"
	fieldZone    = "zone"
	fieldBlocked = "blocked"
	fieldQuiet   = "quiet"      // lines with ";" between them
	fieldOwn     = "categories" // "marketing=1/calendar_week 5/calendar_month;news=1/day"
	fieldOptOut  = "out"        // " marketing news ", which lua/message/claim.lua reads
	fieldDisturb = "disturb"    // Unix ms, which lua/fragments/switched_off.lua reads
	fieldThen    = "then"       // which lua/fragments/switched_off.lua reads
	fieldBest    = "best"       // two digits for each weight
	fieldRezoned = "rezoned"    // which lua/setting/settings_change.lua sets
	fieldVersion = "v"
	fieldKept    = "kept" // see lua/fragments/own_window.lua
)

// Stored returns the values of the fields in the store, without the version, followed by how long
// places count under the user's own rules, ms.
func (s UserSettings) Stored() []any {
	blocked := ""
	if s.Blocked {
		blocked = "1"
	}
	own := make([]string, 0, len(s.Categories))
	for _, name := range slices.Sorted(maps.Keys(s.Categories)) {
		own = append(own, name+"="+JoinRules(s.Categories[name], " "))
	}
	out := ""
	if len(s.OptOut) > 0 {
		out = " " + strings.Join(s.OptOut, " ") + " "
	}
	disturb := ""
	if !s.DoNotDisturbUntil.IsZero() {
		disturb = strconv.FormatInt(s.DoNotDisturbUntil.UnixMilli(), 10)
	}
	return []any{
		s.Contact, s.Policy, JoinRules(s.Limits, " "), s.TimeZone, blocked,
		strings.Join(s.QuietHours.Lines(), ";"), strings.Join(own, ";"), out, disturb, string(s.Then), s.BestHours.stored(),
		s.keeps().Milliseconds(),
	}
}

// StoredFields returns the fields as the store has them under a version, without empty ones.
func (s UserSettings) StoredFields(version string) map[string]string {
	fields := map[string]string{fieldVersion: version}
	names := []string{
		fieldContact, fieldPolicy, fieldLimits, fieldZone, fieldBlocked, fieldQuiet, fieldOwn, fieldOptOut, fieldDisturb, fieldThen, fieldBest,
	}
	for i, value := range s.Stored()[:len(names)] {
		if text, _ := value.(string); text != "" {
			fields[names[i]] = text
		}
	}
	return fields
}

// SwitchedOff returns the categories that the user has switched off, as lua/refit/refit.lua reads
// them; "" for none.
func (s UserSettings) SwitchedOff() string {
	switch {
	case s.Blocked:
		return "*"
	case len(s.OptOut) > 0:
		return " " + strings.Join(s.OptOut, " ") + " "
	default:
		return ""
	}
}

// keeps returns how long places count under the user's own rules; 0 without any.
func (s UserSettings) keeps() time.Duration {
	alone := Policy{Rules: s.Limits, Categories: make(map[string]CategoryRules, len(s.Categories))}
	for name, rules := range s.Categories {
		alone.Categories[name] = CategoryRules{Rules: rules}
	}
	if longest := alone.LargestWindow(); longest > 0 {
		return longest + Grace
	}
	return 0
}

// ChangesRules reports whether the settings change the rules of the user's policy.
func (s UserSettings) ChangesRules() bool {
	return s.TimeZone != "" || len(s.Limits) > 0 || len(s.Categories) > 0 || len(s.OptOut) > 0 || !s.QuietHours.IsZero() ||
		!s.DoNotDisturbUntil.IsZero()
}

// RulesKey returns a text that is equal for settings with the same rules.
func (s UserSettings) RulesKey() string {
	s.Contact, s.Blocked, s.Then, s.BestHours = "", false, "", nil
	return fmt.Sprintf("%q", s.Stored())
}

// ReadSettings reads the fields of the store. The error is a *fault.InvalidError for a value that
// only a newer program understands.
func ReadSettings(values map[string]string) (UserSettings, error) {
	s := UserSettings{
		Contact: values[fieldContact], Policy: values[fieldPolicy], TimeZone: values[fieldZone],
		Blocked: values[fieldBlocked] != "", Then: Then(values[fieldThen]), Rezoned: values[fieldRezoned] != "",
		Version: values[fieldVersion],
	}
	var err error
	if s.Limits, err = parseRules(strings.Fields(values[fieldLimits])); err != nil {
		return UserSettings{}, err
	}
	if lines := values[fieldQuiet]; lines != "" {
		if s.QuietHours, err = ParseQuietHours(strings.Split(lines, ";")...); err != nil {
			return UserSettings{}, err
		}
	}
	if own := values[fieldOwn]; own != "" {
		s.Categories = make(map[string][]Rule)
		for entry := range strings.SplitSeq(own, ";") {
			name, rules, _ := strings.Cut(entry, "=")
			if s.Categories[name], err = parseRules(strings.Fields(rules)); err != nil {
				return UserSettings{}, err
			}
		}
	}
	if out := strings.Fields(values[fieldOptOut]); len(out) > 0 {
		s.OptOut = out
	}
	if disturb := values[fieldDisturb]; disturb != "" {
		ms, err := strconv.ParseInt(disturb, 10, 64)
		if err != nil {
			return UserSettings{}, &fault.InvalidError{Field: "do_not_disturb_until", Value: disturb, Want: "a time in Unix ms"}
		}
		s.DoNotDisturbUntil = time.UnixMilli(ms).UTC()
	}
	if s.BestHours, err = readBestHours(values[fieldBest]); err != nil {
		return UserSettings{}, err
	}
	if keeps, until, ok := strings.Cut(values[fieldKept], " "); ok {
		if s.Former, err = parseFormer(keeps, until); err != nil {
			return UserSettings{}, err
		}
	}
	return s, s.Validate()
}

// ErrUnreadableSettings is wrapped by the *fault.UnavailableError for a user whose settings only a
// newer program can read.
var ErrUnreadableSettings = errors.New("the settings of a user can't be read")

// UnreadableSettings returns the error for settings that can't be read. It does not wrap the cause:
// a *fault.InvalidError would blame the caller.
func UnreadableSettings(err error) error {
	return &fault.UnavailableError{
		Detail: "the settings of the user in the store can't be read:" +
			" clear them and set them again, or run the newer program that wrote them",
		Err: fmt.Errorf("%w: %s", ErrUnreadableSettings, err.Error()),
	}
}
