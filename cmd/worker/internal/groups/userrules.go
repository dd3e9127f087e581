package groups

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// settingsText describes a user's settings and rules for a person.
func settingsText(d client.UserSettings, palette cli.Palette) string {
	var s strings.Builder
	if d.Blocked {
		fmt.Fprintf(&s, "%s is %s: no message is accepted\n", palette.Bold(d.User), palette.Red("blocked"))
	}
	fmt.Fprintf(&s, "set for %s: %s\n", palette.Bold(d.User), cmp.Or(strings.Join(settingsOf(d), ", "), "nothing"))
	if d.Scheduled != nil {
		s.WriteString(followText(*d.Scheduled))
	}
	if d.Effective == nil {
		missing := "the store has no rules yet: start a worker on it"
		if d.Policy != "" {
			missing = fmt.Sprintf("policy %s is missing or needs a newer program: no message is accepted"+
				" until sendlimit-worker policy apply adds it, or sendlimit-worker user set names another", d.Policy)
		}
		return s.String() + missing + "\n"
	}
	describeRules(&s, d.Effective, d.User)
	return s.String()
}

// followText says what becomes of scheduled messages.
func followText(f message.FollowThrough) string {
	if f.Affected == 0 && f.Complete && f.Then != "" {
		return fmt.Sprintf("then: %s\n", f.Then)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "scheduled messages that do not fit: %d", f.Affected)
	for _, part := range []struct {
		count int
		word  string
	}{{f.Moved, "moved"}, {f.Kept, "kept at their times"}, {f.Dropped, "dropped"}, {f.Gone, "sent or changed meanwhile"}} {
		if part.count > 0 {
			fmt.Fprintf(&s, ", %d %s", part.count, part.word)
		}
	}
	if f.Then != "" {
		fmt.Fprintf(&s, " (then: %s)", f.Then)
	}
	s.WriteByte('\n')
	if f.Hint != "" {
		fmt.Fprintf(&s, "  %s\n", f.Hint)
	}
	for _, m := range f.Messages {
		fmt.Fprintf(&s, "  %s  %s  %s\n", message.SpelledTime(m.SendAt.Time), m.Breaks, m.ID)
	}
	return s.String()
}

// settingsOf lists the settings.
func settingsOf(d client.UserSettings) []string {
	var words []string
	if d.Policy != "" {
		words = append(words, "policy "+d.Policy)
	}
	words = append(words, d.Limits...)
	for _, name := range slices.Sorted(maps.Keys(d.Categories)) {
		words = append(words, name+" "+strings.Join(d.Categories[name], " and "))
	}
	if slices.Contains(d.OptOut, policy.AllCategories) {
		words = append(words, "nothing but exempt categories")
	} else if len(d.OptOut) > 0 {
		words = append(words, "no "+strings.Join(d.OptOut, " and no "))
	}
	if len(d.QuietHours) > 0 {
		words = append(words, "quiet "+strings.Join(d.QuietHours, " and "))
	}
	if until := d.DoNotDisturbUntil; !until.IsZero() {
		words = append(words, "not disturbed until "+message.SpelledTime(until.Time))
	}
	if len(d.BestHours) > 0 {
		words = append(words, "best hours such as "+policy.HourOfWeek(slices.Index(d.BestHours, slices.Max(d.BestHours))))
	}
	if d.TimeZone != "" {
		words = append(words, "time zone "+d.TimeZone)
	}
	if d.Contact != "" {
		words = append(words, "quota alerts to "+d.Contact)
	}
	return words
}

func describeRules(s *strings.Builder, h *message.EffectiveRules, user string) {
	fmt.Fprintf(s, "policy %s, version %d:\n", h.Policy, h.Version)
	width := 0
	for _, r := range h.Rules {
		width = max(width, len(r.Rule))
	}
	calendar := false
	for _, r := range h.Rules {
		calendar = calendar || strings.Contains(r.Rule, "/calendar_")
		counts := "all messages"
		if r.Category != "" {
			counts = "category " + r.Category
		}
		fmt.Fprintf(s, "  %-*s  %s", width, r.Rule, counts)
		switch {
		case r.From == message.FromUser && r.Replaces != "":
			fmt.Fprintf(s, ", set for %s in place of %s", user, r.Replaces)
		case r.From == message.FromUser:
			fmt.Fprintf(s, ", set for %s beside the policy's rules", user)
		}
		s.WriteString("\n")
	}
	if calendar {
		fmt.Fprintf(s, "  calendar periods in %s\n", h.TimeZone)
	}
	for _, category := range h.Exempt {
		counts := "counts for the others"
		if !category.Counts {
			counts = "does not count"
		}
		fmt.Fprintf(s, "  category %s is exempt, and %s\n", category.Category, counts)
	}
	if len(h.QuietHours) > 0 {
		fmt.Fprintf(s, "  quiet %s in %s\n", strings.Join(h.QuietHours, " and "), h.QuietTimeZone)
	}
	for _, q := range h.Quiet {
		fmt.Fprintf(s, "  category %s is quiet %s in %s\n", q.Category, cmp.Or(strings.Join(q.QuietHours, " and "), "at no time"), h.QuietTimeZone)
	}
	for _, change := range h.Changes {
		fmt.Fprintf(s, "  %s\n", change)
	}
	for _, category := range h.OptOut {
		if category == policy.AllCategories {
			fmt.Fprintf(s, "  everything but exempt categories is refused: %s has opted out\n", user)
			continue
		}
		fmt.Fprintf(s, "  category %s is refused: %s has opted out\n", category, user)
	}
}
