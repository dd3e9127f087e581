package policy

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/contact"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// nameFlag names the policy if the file does not.
const nameFlag = "name"

func (c *commands) applyCommand() *cobra.Command {
	var refit *refitOptions
	var by string
	apply := &cobra.Command{
		Use:   "apply FILE",
		Short: "Replace a policy by a YAML or JSON file, - for standard input.",
		Long: "Replace a policy by a YAML or JSON file, - for standard input:\n\n" +
			"  name: default             # or another one, for worker user set --policy\n" +
			"  time_zone: Europe/Berlin  # of calendar rules and quiet hours (default UTC)\n" +
			"  user_time_zone: true      # calendar rules use the user's own zone, if set\n" +
			"  rules: [1/minute, 5/hour, 10/calendar_day]\n" +
			"  quiet_hours:              # nothing is sent then, in the user's time zone\n" +
			"    - 22:00-08:00           # ends on the next day\n" +
			"    - sat,sun 00:00-24:00\n" +
			"  reach: 30d                # how far ahead a send time may lie\n" +
			"  on_conflict: shift        # for messages without their own; default refuse\n" +
			"  account_share: 50%        # of each rule, for one account among several\n" +
			"  alert_at: [80, 100]       # percents of a daily rule that alert the contact\n" +
			"  alert_to: ops@example.com # receives a list of such users once an hour\n" +
			"  categories:               # in addition to the rules above\n" +
			"    marketing: {rules: [2/calendar_day]}\n" +
			"    offers: {throttle: 500/minute} # of all users together, by send times\n" +
			"    codes: {exempt: true, counts: false, accounts: [shop]} # others may not\n\n" +
			"Only rules are required. With version: N, which policy show prints, the file is\n" +
			"applied only in place of that version: remove it to replace any. A field that is left out gets its default, not its old\n" +
			"value. If anything in the file is wrong, nothing is applied. The policy takes\n" +
			"effect within two seconds in every program.\n\n" +
			"Messages that are already scheduled keep their places, and are sent as promised.\n" +
			"--preview applies nothing and lists those that would break the policy. --then\n" +
			"says what to do with them.",
		Example: "  worker policy apply rules.yaml\n" +
			"  worker policy apply rules.yaml --preview\n" +
			"  worker policy apply rules.yaml --then shift\n" +
			"  echo '{\"rules\": [\"5/minute\", \"100/calendar_day\"]}' | worker policy apply - --name vip",
		Args: cli.Argument("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.apply(cmd, args[0], by, refit)
		},
	}
	byFlag(apply.Flags(), &by)
	apply.Flags().String(nameFlag, policy.DefaultName, "`name` of the policy, if the file has none")
	refit = refitFlags(apply.Flags())
	return apply
}

func (c *commands) apply(cmd *cobra.Command, file, by string, refit *refitOptions) error {
	ctx := cmd.Context()
	action, err := refit.check()
	if err != nil {
		return c.Report(c.asJSON, err)
	}
	policy, err := c.readPolicy(cmd.Flags(), file)
	if err != nil {
		return c.Report(c.asJSON, err)
	}
	return c.withPolicies(cmd, func(policies *settings.Policies, client redis.UniversalClient, cfg config.Config) error {
		if err := (contact.Rule{AllowInternal: cfg.AllowInternalWebhooks}).CheckPolicy(policy); err != nil {
			return fmt.Errorf("replacing the policy: %w", err)
		}
		if refit.preview {
			return c.previewPolicy(ctx, client, cfg, policy)
		}
		if err := store.PresentLayout.Check(ctx, client, cfg.Prefix); err != nil {
			return fmt.Errorf("looking at the layout of the store: %w", err)
		}
		change, err := policies.By(maker(by)).Replace(ctx, policy, cmp.Or(policy.Version, settings.AnyVersion))
		if err != nil {
			return fmt.Errorf("replacing the policy: %w", err)
		}
		if err := c.printApplied(change, action); err != nil {
			return err
		}
		return c.refitPolicy(ctx, client, cfg, change.New, action)
	})
}

// readPolicy reads the policy of a file. Its name is in the file or in a flag.
func (c *commands) readPolicy(flags *pflag.FlagSet, file string) (policy.Policy, error) {
	name, err := flags.GetString(nameFlag)
	if err != nil {
		return policy.Policy{}, fmt.Errorf("reading the name of the policy: %w", err)
	}
	if err := checkPolicyName(name); err != nil {
		return policy.Policy{}, err
	}
	p, err := config.ReadPolicy(file, c.Stdin, name)
	if err != nil {
		return policy.Policy{}, err
	}
	if flags.Changed(nameFlag) && p.Name != name {
		return policy.Policy{}, fault.Wrong(nameFlag, "--name is %q, and the file names the policy %q: leave one of them out", fault.Clip(name), p.Name)
	}
	return p, nil
}

// checkPolicyName checks that the flag is a name that a policy may have. The error is a
// *fault.InvalidError.
func checkPolicyName(name string) error {
	named := policy.Default()
	named.Name = name
	if invalid, ok := errors.AsType[*fault.InvalidError](named.Validate()); ok {
		return &fault.InvalidError{Field: nameFlag, Value: name, Want: invalid.Want}
	}
	return nil
}

// applied is the answer of policy apply. Old is null if there was none.
type applied struct {
	Old     *policy.Document `json:"old"`
	New     policy.Document  `json:"new"`
	Changed bool             `json:"changed"`

	ExactFrom message.Time `json:"exact_from,omitzero"`
}

func (c *commands) printApplied(change settings.PolicyChange, then message.RefitAction) error {
	if !c.asJSON {
		return c.Print(describeChange(change, then, c.Palette()))
	}
	answer := applied{New: change.New.Document().Spelled(), Changed: change.Changed, ExactFrom: message.Time{Time: change.ExactFrom}}
	if change.Old != nil {
		old := change.Old.Document().Spelled()
		answer.Old = &old
	}
	return c.PrintJSON(answer)
}

// describeChange says for a person what was replaced, and what becomes of scheduled
// messages.
func describeChange(change settings.PolicyChange, then message.RefitAction, palette cli.Palette) string {
	policy, name := change.New, palette.Bold(change.New.Name)
	if !change.Changed {
		return fmt.Sprintf("%s: unchanged, version %d\n", name, policy.Version)
	}
	var s strings.Builder
	if change.Old == nil {
		fmt.Fprintf(&s, "%s: none → version %d\n", name, policy.Version)
	} else {
		fmt.Fprintf(&s, "%s: version %d → %d\n", name, change.Old.Version, policy.Version)
	}
	differences := policyview.Differences(change.Old, policy)
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
	s.WriteString("It applies within 2 seconds in every program")
	if then == message.RefitKeep {
		s.WriteString("; scheduled messages keep their places")
	}
	s.WriteString(".\n")
	if !change.ExactFrom.IsZero() {
		fmt.Fprintf(&s, "No policy looked back as far before: it counts everything for sends from %s on.\n", change.ExactFrom.UTC().Format(time.RFC3339))
	}
	return s.String()
}
