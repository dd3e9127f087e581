package user

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// userSettings are the settings of users, and the policies that they name.
type userSettings struct {
	cli.Program
	*settings.Users

	policies map[string]policy.Policy
	contacts contact.Rule
	json     bool
}

// settingsCommands returns the commands that list, show and change settings of users.
func settingsCommands(p cli.Program) []*cobra.Command {
	u := &userSettings{Program: p}
	show := &cobra.Command{
		Use:     "show USER",
		Short:   "Show a user's settings, and the rules that apply to the user.",
		Example: "  worker user show alice\n  worker user show alice --json",
		Args:    cli.Argument("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return u.withSettings(cmd, func(ctx context.Context) error { return u.show(ctx, args[0]) })
		},
	}
	clearAll := &cobra.Command{
		Use:     "clear USER",
		Short:   "Remove all settings of a user.",
		Long:    "Remove all settings of a user. The user's messages stay as they are.",
		Example: "  worker user clear alice",
		Args:    cli.Argument("USER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return u.withSettings(cmd, func(ctx context.Context) error {
				if err := u.Clear(ctx, args[0]); err != nil {
					return fmt.Errorf("clearing a user's settings: %w", err)
				}
				return u.show(ctx, args[0])
			})
		},
	}
	commands := []*cobra.Command{show, u.setCommand(), clearAll, u.listCommand()}
	for _, cmd := range commands {
		cmd.Flags().BoolVar(&u.json, "json", false, "answer with one line of JSON")
	}
	return commands
}

// withSettings reads the policies of the store that the flags name, and calls do.
func (u *userSettings) withSettings(cmd *cobra.Command, do func(context.Context) error) error {
	ctx := cmd.Context()
	return u.Report(u.json, store.With(ctx, u.Program, cmd.Flags(), func(client redis.UniversalClient, c config.Config) (err error) {
		if u.Users, err = settings.NewUsers(client, c.Prefix); err != nil {
			return fmt.Errorf("opening the settings of users: %w", err)
		}
		u.contacts = contact.Rule{AllowInternal: c.AllowInternalWebhooks}
		policies, err := settings.NewPolicies(client, c.Prefix)
		if err != nil {
			return fmt.Errorf("opening the policies: %w", err)
		}
		all, _, err := policies.All(ctx)
		if err != nil {
			return fmt.Errorf("looking at the policies: %w", err)
		}
		u.policies = make(map[string]policy.Policy, len(all))
		for _, policy := range all {
			u.policies[policy.Name] = policy
		}
		return do(ctx)
	}))
}

func (u *userSettings) setCommand() *cobra.Command {
	set := &cobra.Command{
		Use:   "set USER",
		Short: "Change a user's settings as the flags say, and show them.",
		Long: "Change a user's settings as the flags say, and show them. The change takes effect\n" +
			"immediately. '' removes a policy, time zone or contact; --no-limits removes the\n" +
			"limits, --no-quiet-hours the quiet hours, --no-category-limits the limits of\n" +
			"categories.\n\n" +
			"A --limit replaces the rule of the user's policy with the same window: for example,\n" +
			"20/calendar_day replaces 10/calendar_day. Rules with other windows stay. A\n" +
			"--category-limit does so for the rules of a category; if the category has no rule\n" +
			"with that window, the limit applies beside its rules.\n\n" +
			"--quiet-hours apply beside those of the policy. Messages of a category that the user\n" +
			"has opted out of are refused; scheduled ones are dropped at their send time.\n\n" +
			"No more messages are accepted for a blocked user. What was accepted before is sent,\n" +
			"unless it is cancelled.\n\n" +
			"The contact is an e-mail address, or an https: URL that receives a POST. It is\n" +
			"alerted when a daily rule is 80 % and 100 % full, once a day each. Other percents\n" +
			"are set with alert_at, see worker policy apply --help.",
		Example: "  worker user set alice --policy vip --time-zone Europe/Berlin\n" +
			"  worker user set alice --limit 20/calendar_day --limit 3/minute\n" +
			"  worker user set alice --no-limits --contact ''\n" +
			"  worker user set alice --quiet-hours 21:00-09:00 --quiet-hours 'sat,sun 00:00-24:00'\n" +
			"  worker user set alice --category-limit marketing=1/calendar_week --opt-out news\n" +
			"  worker user set alice --block",
		Args: cli.Argument("USER"),
	}
	var f userFlags
	f.register(set.Flags())
	set.RunE = func(cmd *cobra.Command, args []string) error {
		change, err := f.change(cmd)
		if err != nil {
			return u.Report(u.json, err)
		}
		return u.withSettings(cmd, func(ctx context.Context) error {
			_, err := u.Update(ctx, args[0], func(before policy.UserSettings) (policy.UserSettings, error) {
				settings := change.to(before)
				return settings, u.check(settings, change)
			})
			if err != nil {
				return fmt.Errorf("setting what is a user's own: %w", err)
			}
			return u.show(ctx, args[0])
		})
	}
	return set
}

// check checks the changed settings against the policies. It does not check settings
// that stay: they may refer to rules that are gone.
func (u *userSettings) check(settings policy.UserSettings, change userChange) error {
	// First what is wrong without looking at a policy.
	if err := settings.Validate(); err != nil {
		return err
	}
	if change.contact != nil {
		if err := u.contacts.Check("contact", settings.Contact); err != nil {
			return err
		}
	}
	switch {
	case change.policy != nil:
		return message.CheckUserSettings(settings, u.policies)
	case len(change.add) > 0 || len(change.addCategories) > 0 || change.quiet != nil:
		given := policy.UserSettings{Policy: settings.Policy, Limits: change.add, Categories: change.addCategories}
		if change.quiet != nil {
			given.QuietHours = *change.quiet
		}
		return message.CheckUserSettings(given, u.policies)
	default:
		return nil
	}
}

// userFlags are the flags of user set.
type userFlags struct {
	policy, zone, contact string
	limits                []string
	noLimits              bool
	categories            []string
	noCategories          bool
	quiet                 []string
	noQuiet               bool
	optOut, optIn         []string
	block, unblock        bool
}

func (f *userFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.policy, "policy", "", "`name` of the policy for the user, instead of default")
	flags.StringSliceVar(&f.limits, "limit", nil, "`rule` that replaces the policy's rule with the same window, such as 20/calendar_day; may be repeated")
	flags.BoolVar(&f.noLimits, "no-limits", false, "remove the user's limits, except those given with --limit")
	flags.StringSliceVar(&f.categories, "category-limit", nil,
		"`category=rule` that replaces the rule of the category with the same window, or applies beside its rules; may be repeated")
	flags.BoolVar(&f.noCategories, "no-category-limits", false, "remove the user's limits of categories, except those given with --category-limit")
	flags.StringArrayVar(&f.quiet, "quiet-hours", nil, "`hours` at which nothing is sent to the user, such as 21:00-09:00; replaces the user's quiet hours; may be repeated")
	flags.BoolVar(&f.noQuiet, "no-quiet-hours", false, "remove the user's quiet hours")
	flags.StringSliceVar(&f.optOut, "opt-out", nil, "`category` that the user does not want; may be repeated")
	flags.StringSliceVar(&f.optIn, "opt-in", nil, "`category` that the user wants again; may be repeated")
	flags.StringVar(&f.zone, "time-zone", "", "IANA `zone` of the user, for quiet hours")
	flags.StringVar(&f.contact, "contact", "", "e-mail `address` or https: URL for quota alerts")
	flags.BoolVar(&f.block, "block", false, "accept no more messages for the user")
	flags.BoolVar(&f.unblock, "unblock", false, "accept messages for the user again")
}

// userChange is a change of a user's settings. A nil field stays.
type userChange struct {
	policy, zone, contact *string
	add                   []policy.Rule
	dropLimits            bool
	addCategories         map[string][]policy.Rule
	dropCategories        bool
	quiet                 *policy.WeekHours
	optOut, optIn         []string
	blocked               *bool
}

// limits reports whether limits are changed.
func (c userChange) limits() bool { return len(c.add) > 0 || c.dropLimits }

// change reads the flags that were given.
func (f *userFlags) change(cmd *cobra.Command) (userChange, error) {
	var c userChange
	given := false
	for name, field := range map[string]struct {
		into  **string
		value *string
	}{"policy": {&c.policy, &f.policy}, "time-zone": {&c.zone, &f.zone}, "contact": {&c.contact, &f.contact}} {
		if cmd.Flags().Changed(name) {
			*field.into, given = field.value, true
		}
	}
	if f.block && f.unblock {
		return c, cli.Usage(cmd, "unblock", "--block and --unblock can't be given together")
	}
	if f.block || f.unblock {
		c.blocked, given = &f.block, true
	}
	if cmd.Flags().Changed("limit") && len(f.limits) == 0 {
		return c, fault.Wrong("limit", "--limit needs a rule such as 20/calendar_day; --no-limits removes all limits")
	}
	for _, text := range f.limits {
		limit, err := policy.ParseRule(text)
		if invalid, ok := errors.AsType[*fault.InvalidError](err); ok {
			return c, &fault.InvalidError{Field: "limit", Value: invalid.Value, Want: invalid.Want}
		}
		c.add = append(c.add, limit)
	}
	c.dropLimits, c.dropCategories, c.optOut, c.optIn = f.noLimits, f.noCategories, f.optOut, f.optIn
	if err := f.changeCategories(cmd, &c); err != nil {
		return c, err
	}
	if !given && !c.limits() && !c.categories() && c.quiet == nil {
		return c, cli.Usage(cmd, "", "say what to change, for example --policy, --limit, --time-zone, --quiet-hours, --opt-out, --contact or --block")
	}
	return c, nil
}

// changeCategories reads the flags about categories and quiet hours.
func (f *userFlags) changeCategories(cmd *cobra.Command, c *userChange) error {
	for _, text := range f.categories {
		name, rule, found := strings.Cut(text, "=")
		limit, err := policy.ParseRule(rule)
		if !found || err != nil {
			return &fault.InvalidError{Field: "category-limit", Value: text, Want: "a category and a rule, such as marketing=1/calendar_week"}
		}
		if c.addCategories == nil {
			c.addCategories = make(map[string][]policy.Rule)
		}
		c.addCategories[name] = append(c.addCategories[name], limit)
	}
	for _, category := range f.optOut {
		if slices.Contains(f.optIn, category) {
			return cli.Usage(cmd, "opt-in", "--opt-out and --opt-in both name "+category)
		}
	}
	if f.noQuiet && len(f.quiet) > 0 {
		return cli.Usage(cmd, "no-quiet-hours", "--quiet-hours and --no-quiet-hours can't be given together")
	}
	if f.noQuiet || len(f.quiet) > 0 {
		hours, err := policy.ParseQuietHours(f.quiet...)
		if err != nil {
			return fault.InField(err, "quiet-hours")
		}
		c.quiet = &hours
	}
	return nil
}

// categories reports whether the user's limits of categories, or opt-outs, are changed.
func (c userChange) categories() bool {
	return len(c.addCategories) > 0 || c.dropCategories || len(c.optOut) > 0 || len(c.optIn) > 0
}

// to returns settings with the change.
func (c userChange) to(s policy.UserSettings) policy.UserSettings {
	for _, field := range []struct{ to, from *string }{{&s.Policy, c.policy}, {&s.TimeZone, c.zone}, {&s.Contact, c.contact}} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	if c.blocked != nil {
		s.Blocked = *c.blocked
	}
	if c.quiet != nil {
		s.QuietHours = *c.quiet
	}
	s.Limits = changedLimits(s.Limits, c.add, c.dropLimits)
	if c.categories() {
		s.Categories, s.OptOut = c.changedCategories(s.Categories), c.changedOptOut(s.OptOut)
	}
	return s
}

// changedLimits returns a user's limits with others in place of those with the same windows,
// or alone.
func changedLimits(limits, add []policy.Rule, alone bool) []policy.Rule {
	var kept []policy.Rule
	if !alone {
		for _, limit := range limits {
			if !slices.ContainsFunc(add, limit.SameWindow) {
				kept = append(kept, limit)
			}
		}
	}
	return append(kept, add...)
}

func (c userChange) changedCategories(before map[string][]policy.Rule) map[string][]policy.Rule {
	after := make(map[string][]policy.Rule)
	if !c.dropCategories {
		maps.Copy(after, before)
	}
	for name, add := range c.addCategories {
		after[name] = changedLimits(after[name], add, false)
	}
	if len(after) == 0 {
		return nil
	}
	return after
}

func (c userChange) changedOptOut(before []string) []string {
	var after []string
	for _, name := range append(slices.Clone(before), c.optOut...) {
		if !slices.Contains(c.optIn, name) && !slices.Contains(after, name) {
			after = append(after, name)
		}
	}
	return after
}
