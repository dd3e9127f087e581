package groups

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func (c user) setCommand() *cobra.Command {
	set := &cobra.Command{
		Use: "set USER", Short: "Change a user's settings, and show them.",
		Long: "Change a user's settings, and show them. The change takes effect\n" +
			"immediately. '' removes a policy, time zone or contact; --no-limits removes the\n" +
			"limits, --no-quiet-hours the quiet hours, --no-category-limits the limits of\n" +
			"categories.\n\n" +
			"A --limit replaces the rule of the user's policy with the same window: for example,\n" +
			"20/calendar_day replaces 10/calendar_day. Rules with other windows stay. A\n" +
			"--category-limit does so for the rules of a category; if the category has no rule\n" +
			"with that window, the limit applies beside its rules.\n\n" +
			"--quiet-hours apply beside those of the policy. Messages of a category that the user\n" +
			"has opted out of are refused; scheduled ones are dropped at their send time.\n" +
			"--opt-out all opts out of everything but exempt categories.\n\n" +
			"--do-not-disturb-until is a time before which nothing is sent, except messages of\n" +
			"exempt categories: new ones are refused or shifted, and scheduled ones wait, and are\n" +
			"then sent as late ones. '' ends it.\n\n" +
			"--best-hours are 168 weights from 0 to 1000, one for each hour of the week from Monday\n" +
			"00:00 on, by the clocks of the user. Messages that prefer the best time of a window get\n" +
			"times in the ratio of these. '' removes them.\n\n" +
			"A blocked user gets no messages: new ones are refused, and scheduled ones are dropped\n" +
			"at their send time.\n\n" +
			"The answer counts the scheduled messages that do not fit the new settings. They stay\n" +
			"at their times; those in quiet hours of the user wait there for their end. --then\n" +
			"shift moves each to its next free time, and drops it if there is none, --then drop\n" +
			"drops them, and --then keep sends them as planned. --preview changes nothing, and\n" +
			"lists them. If the command is interrupted, run it again, or let a worker continue.\n\n" +
			"The contact is an e-mail address, or an https: URL that receives a POST. It is\n" +
			"alerted when a daily rule is 80 % and 100 % full, once a day each. Other percents\n" +
			"are set with alert_at, see sendlimit-worker policy apply --help.",
		Example: "  sendlimit-worker user set alice --policy vip --time-zone Europe/Berlin\n" +
			"  sendlimit-worker user set alice --limit 20/calendar_day --limit 3/minute\n" +
			"  sendlimit-worker user set alice --no-limits --contact ''\n" +
			"  sendlimit-worker user set alice --quiet-hours 21:00-09:00 --quiet-hours 'sat,sun 00:00-24:00'\n" +
			"  sendlimit-worker user set alice --category-limit marketing=1/calendar_week --opt-out news\n" +
			"  sendlimit-worker user set alice --do-not-disturb-until 2027-06-22T09:00:00Z\n" +
			"  sendlimit-worker user set alice --best-hours \"$(cat hours.txt)\"\n" +
			"  sendlimit-worker user set alice --time-zone Asia/Tokyo --then shift --preview\n" +
			"  sendlimit-worker user set alice --block --then drop",
	}
	var f userFlags
	f.register(set.Flags())
	set.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		return c.With(cmd, func(ctx context.Context, api *client.Client) error {
			settings, err := f.apply(ctx, cmd.Flags(), api, args[0])
			return operations.Answer(c.Group, settings, err, c.text)
		})
	}
	return set
}

// apply changes the settings of a user. It starts again if another program changes them meanwhile.
func (f *userFlags) apply(ctx context.Context, flags *pflag.FlagSet, api *client.Client, user string) (client.UserSettings, error) {
	for {
		before, err := api.UserSettings(ctx, user)
		if err != nil {
			return before, err
		}
		change, err := f.change(flags, before)
		if err != nil {
			return before, err
		}
		after, err := api.ChangeUserSettings(ctx, user, change, client.IfVersion(before.Version))
		if refused, is := errors.AsType[*client.Refusal](err); !is || refused.Code != client.CodeVersionMismatch {
			return after, err
		}
	}
}

// userFlags are the flags of user set.
type userFlags struct {
	limits         []string
	noLimits       bool
	categories     []string
	noCategories   bool
	quiet          []string
	noQuiet        bool
	optOut, optIn  []string
	best           []string
	block, unblock bool
	preview        bool
}

func (f *userFlags) register(flags *pflag.FlagSet) {
	flags.String("policy", "", "`name` of the policy for the user, instead of default")
	flags.StringSliceVar(&f.limits, "limit", nil, "`rule` that replaces the policy's rule with the same window, such as 20/calendar_day; repeatable")
	flags.BoolVar(&f.noLimits, "no-limits", false, "remove the user's limits, except those given with --limit")
	flags.StringSliceVar(&f.categories, "category-limit", nil,
		"`category=rule` that replaces the rule of the category with the same window, or applies beside its rules; repeatable")
	flags.BoolVar(&f.noCategories, "no-category-limits", false, "remove the user's limits of categories, except those given with --category-limit")
	flags.StringArrayVar(&f.quiet, "quiet-hours", nil, "`hours` at which nothing is sent to the user, such as 21:00-09:00; replaces the user's quiet hours; repeatable")
	flags.BoolVar(&f.noQuiet, "no-quiet-hours", false, "remove the user's quiet hours")
	flags.StringSliceVar(&f.optOut, "opt-out", nil, "`category` that the user opts out of, or all; repeatable")
	flags.StringSliceVar(&f.optIn, "opt-in", nil, "`category` that the user opts in to again; repeatable")
	flags.String("do-not-disturb-until", "", "`time` before which nothing is sent to the user, such as 2027-06-22T09:00:00Z")
	flags.StringArrayVar(&f.best, "best-hours", nil, "168 `weights` of the hours of the week, from Monday 00:00 on, between commas or spaces; repeatable, such as for each day")
	flags.String("time-zone", "", "IANA `zone` of the user, for quiet hours")
	flags.String("contact", "", "e-mail `address` or https: URL for quota alerts")
	flags.BoolVar(&f.block, "block", false, "accept no more messages for the user")
	flags.String("then", "", "what becomes of scheduled messages that do not fit: keep, shift or drop")
	flags.BoolVar(&f.preview, "preview", false, "change nothing, and list the scheduled messages that would not fit")
	flags.BoolVar(&f.unblock, "unblock", false, "accept messages for the user again")
}

// check refuses flags that exclude each other, and a command without flags.
func (f *userFlags) check(cmd *cobra.Command) error {
	given := false
	for _, name := range []string{"policy", "limit", "no-limits", "category-limit", "no-category-limits", "quiet-hours", "no-quiet-hours", "opt-out", "opt-in", "do-not-disturb-until", "best-hours", "time-zone", "contact", "block", "unblock", "then"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && (flag.Value.Type() != "bool" || flag.Value.String() == "true") {
			given = true
		}
	}
	both := slices.IndexFunc(f.optOut, func(category string) bool { return slices.Contains(f.optIn, category) })
	switch {
	case f.block && f.unblock:
		return cli.Usage(cmd, "unblock", "--block and --unblock exclude each other")
	case cmd.Flags().Changed("limit") && len(f.limits) == 0:
		return fault.Wrong("limit", "--limit requires a rule such as 20/calendar_day; --no-limits removes all limits")
	case both >= 0:
		return cli.Usage(cmd, "opt-in", "--opt-out and --opt-in both name "+f.optOut[both])
	case f.noQuiet && len(f.quiet) > 0:
		return cli.Usage(cmd, "no-quiet-hours", "--quiet-hours and --no-quiet-hours exclude each other")
	case !given:
		return cli.Usage(cmd, "", "a flag is required, for example --policy, --limit, --time-zone, --quiet-hours, --opt-out, --do-not-disturb-until, --best-hours, --contact or --block")
	}
	for _, rule := range f.limits {
		if invalid, wrong := errors.AsType[*fault.InvalidError](parsed(rule)); wrong {
			return &fault.InvalidError{Field: "limit", Value: invalid.Value, Want: invalid.Want}
		}
	}
	for _, text := range f.categories {
		if _, rule, found := strings.Cut(text, "="); !found || parsed(rule) != nil {
			return &fault.InvalidError{Field: "category-limit", Value: text, Want: "a category and a rule, such as marketing=1/calendar_week"}
		}
	}
	if _, err := policy.ParseQuietHours(f.quiet...); err != nil {
		return fault.InField(err, "quiet-hours")
	}
	weights, err := policy.ParseWeights(strings.Join(f.best, " "))
	if err == nil {
		_, err = policy.ParseBestHours(weights)
	}
	return fault.InField(err, "best-hours")
}

func parsed(rule string) error {
	_, err := policy.ParseRule(rule)
	return err
}

// change returns the changes of the flags.
func (f *userFlags) change(flags *pflag.FlagSet, before client.UserSettings) (c client.SettingsPatch, err error) {
	if _, err := operations.Fill(flags, &c); err != nil {
		return c, err
	}
	c.DryRun = f.preview
	if f.block || f.unblock {
		c.Blocked = &f.block
	}
	if f.best != nil {
		if c.BestHours, err = policy.ParseWeights(strings.Join(f.best, " ")); err != nil {
			return c, err
		}
	}
	if f.noQuiet || len(f.quiet) > 0 {
		c.QuietHours = append([]string{}, f.quiet...)
	}
	if f.noLimits || len(f.limits) > 0 {
		if c.Limits, err = changedLimits(before.Limits, f.limits, f.noLimits); err != nil {
			return c, err
		}
	}
	if f.noCategories || len(f.categories) > 0 {
		if c.Categories, err = f.changedCategories(before.Categories); err != nil {
			return c, err
		}
	}
	if len(f.optOut) > 0 || len(f.optIn) > 0 {
		c.OptOut = []string{}
		for _, name := range append(slices.Clone(before.OptOut), f.optOut...) {
			if !slices.Contains(f.optIn, name) && !slices.Contains(c.OptOut, name) {
				c.OptOut = append(c.OptOut, name)
			}
		}
	}
	return c, nil
}

// changedLimits returns a user's limits, or none, with others in place of those with the same
// windows.
func changedLimits(limits, add []string, alone bool) ([]string, error) {
	given, err := policy.ParseRules(add, "limit")
	if err != nil {
		return nil, err
	}
	kept := []string{}
	for _, limit := range limits {
		rule, err := policy.ParseRule(limit)
		if err != nil {
			return nil, err
		}
		if !alone && !slices.ContainsFunc(given, rule.SameWindow) {
			kept = append(kept, limit)
		}
	}
	return append(kept, add...), nil
}

func (f *userFlags) changedCategories(before map[string][]string) (map[string][]string, error) {
	after := make(map[string][]string)
	if !f.noCategories {
		maps.Copy(after, before)
	}
	for _, text := range f.categories {
		name, rule, _ := strings.Cut(text, "=")
		var err error
		if after[name], err = changedLimits(after[name], []string{rule}, false); err != nil {
			return nil, err
		}
	}
	return after, nil
}
