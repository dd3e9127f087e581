package policy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// nameFlag names the policy if the file does not.
const nameFlag = "name"

func (c *commands) applyCommand() *cobra.Command {
	var refit *refitOptions
	apply := &cobra.Command{
		Use: "apply FILE", Short: "Replace a policy by a YAML or JSON file, - for standard input.",
		Long: "Replace a policy by a YAML or JSON file, - for standard input:\n\n" +
			"  name: default             # or another, for \"user set --policy\"\n" +
			"  time_zone: Europe/Berlin  # of calendar rules and quiet hours (default UTC)\n" +
			"  user_time_zone: true      # calendar rules use the user's own zone, if set\n" +
			"  rules: [1/minute, 5/hour, 10/calendar_day]\n" +
			"  quiet_hours:              # no deliveries, in the user's time zone\n" +
			"    - 22:00-08:00           # ends on the next day\n" +
			"    - sat,sun 00:00-24:00\n" +
			"  blackouts: [12-25, holidays.ics] # dates, and dates of a file\n" +
			"  reach: 30d                # how far ahead a send time may be\n" +
			"  on_conflict: shift        # for messages without their own; default refuse\n" +
			"  shift_spread: 30m         # spreads what shifts out of quiet hours\n" +
			"  late: 15m                 # send now what is up to so late; default refuse\n" +
			"  account_share: 50%        # of each rule, for one account among several\n" +
			"  alert_at: [80, 100]       # percents of a daily rule that alert the contact\n" +
			"  alert_to: ops@example.com # receives a list of such users once an hour\n" +
			"  categories:               # in addition to the rules above\n" +
			"    marketing: {rules: [2/calendar_day]}\n" +
			"    offers: {throttle: 500/minute} # of all users together, by send times\n" +
			"    codes: {exempt: true, counts: false, accounts: [shop]} # others may not\n\n" +
			"Only rules are required. With version: N, as policy show prints it, the file\n" +
			"replaces only that version: remove the line to replace any. A missing field gets\n" +
			"its default, not its old value. An error in the file applies nothing. The policy\n" +
			"takes effect within two seconds in every program.\n\n" +
			"Scheduled messages keep their places, and are sent as promised. --dry-run is a dry\n" +
			"run: it lists the scheduled messages that would break the policy. --then moves or\n" +
			"cancels them.",
		Example: "  sendlimit-worker policy apply rules.yaml\n" +
			"  sendlimit-worker policy apply rules.yaml --dry-run\n" +
			"  sendlimit-worker policy apply rules.yaml --then shift\n" +
			"  echo '{\"rules\": [\"5/minute\", \"100/calendar_day\"]}' | sendlimit-worker policy apply - --name vip",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.apply(cmd, args, refit)
		},
	}
	apply.Flags().String(nameFlag, policy.DefaultName, "`name` of the policy, if the file has none")
	refit = refitFlags(apply.Flags())
	return apply
}

func (c *commands) apply(cmd *cobra.Command, args []string, refit *refitOptions) error {
	action, err := refit.check()
	if err != nil {
		return err
	}
	read, err := c.readPolicy(cmd.Flags(), args[0])
	if err != nil {
		return err
	}
	return c.With(cmd, func(ctx context.Context, api *client.Client) error {
		proposed := message.PolicyOf(read)
		if refit.dryRun {
			return c.watch(api.DryRunPolicy(ctx, proposed.Name, proposed))
		}
		var only []client.Condition
		if proposed.Version > 0 {
			only = append(only, client.IfVersion(proposed.Version))
		}
		change, err := api.ApplyPolicy(ctx, proposed.Name, proposed, only...)
		return c.applied(ctx, api, change, err, action)
	})
}

// applied prints a change of a policy, and then applies the action to the scheduled messages that
// break it.
func (c *commands) applied(ctx context.Context, api *client.Client, change client.PolicyChange, err error, action message.RefitAction) error {
	if err := operations.Answer(c.Group, change, err, func(change client.PolicyChange) string {
		return describeChange(change, action, c.Palette())
	}); err != nil || action == message.RefitKeep {
		return err
	}
	return c.watch(api.RefitPolicy(ctx, change.New.Name, client.RefitPolicyQuery{Then: string(action)}))
}

// readPolicy reads the policy of a file. The file or a flag names it.
func (c *commands) readPolicy(flags *pflag.FlagSet, file string) (policy.Policy, error) {
	name, err := flags.GetString(nameFlag)
	if err != nil {
		return policy.Policy{}, fmt.Errorf("reading the name of the policy: %w", err)
	}
	if err := checkPolicyName(name); err != nil {
		return policy.Policy{}, err
	}
	p, err := config.ReadPolicy(file, c.Stdin, name, time.Now())
	if err != nil {
		return policy.Policy{}, err
	}
	if flags.Changed(nameFlag) && p.Name != name {
		return policy.Policy{}, fault.Wrong(nameFlag, "--name is %q, and the file has the name %q: remove one of them", fault.Clip(name), p.Name)
	}
	return p, nil
}

// checkPolicyName checks the flag with a policy's name. The error is a *fault.InvalidError.
func checkPolicyName(name string) error {
	named := policy.Default()
	named.Name = name
	if invalid, ok := errors.AsType[*fault.InvalidError](named.Validate()); ok {
		return &fault.InvalidError{Field: nameFlag, Value: name, Want: invalid.Want}
	}
	return nil
}

// describeChange describes for a person what was replaced, and the effect on scheduled messages.
func describeChange(change client.PolicyChange, then message.RefitAction, palette cli.Palette) string {
	name := palette.Bold(change.New.Name)
	if !change.Changed {
		return fmt.Sprintf("%s: unchanged, version %d\n", name, change.New.Version)
	}
	var s strings.Builder
	if change.Old == nil {
		fmt.Fprintf(&s, "%s: none → version %d\n", name, change.New.Version)
	} else {
		fmt.Fprintf(&s, "%s: version %d → %d\n", name, change.Old.Version, change.New.Version)
	}
	differences := differences(change)
	width := 0
	for _, d := range differences {
		width = max(width, len(d.Name))
	}
	for _, d := range differences {
		if change.Old == nil {
			fmt.Fprintf(&s, "  %-*s  %s\n", width, d.Name, d.New)
		} else {
			fmt.Fprintf(&s, "  %-*s  %s → %s\n", width, d.Name, palette.Dim(d.Old), palette.Green(d.New))
		}
	}
	s.WriteString("It takes effect within 2 seconds in every program")
	if then == message.RefitKeep {
		s.WriteString("; scheduled messages keep their places")
	}
	s.WriteString(".\n")
	if !change.ExactFrom.IsZero() {
		fmt.Fprintf(&s, "It looks back further than any policy before, and counts completely for send times from %s.\n", change.ExactFrom.UTC().Format(time.RFC3339))
	}
	return s.String()
}

// differences returns the changed fields; none if only a newer program can read the policies.
func differences(change client.PolicyChange) []policyview.Difference {
	now, err := policy.Document(change.New).Policy()
	if err != nil || change.Old == nil {
		return policyview.Differences(nil, now)
	}
	old, err := policy.Document(*change.Old).Policy()
	if err != nil {
		return nil
	}
	return policyview.Differences(&old, now)
}
