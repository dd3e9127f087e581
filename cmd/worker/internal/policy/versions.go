package policy

import (
	"context"
	"fmt"
	"os/user"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// byFlag registers the flag with the name of who makes a change.
func byFlag(flags *pflag.FlagSet, by *string) {
	flags.StringVar(by, "by", "", "`name` of who makes the change, for policy versions (default the user of the operating system)")
}

// maker returns the name of who makes a change: that of the flag, or else the user of the
// operating system; "" if it is not known.
func maker(by string) string {
	if by != "" {
		return by
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

func (c *commands) versionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "versions NAME",
		Short: "List the versions of a policy: who stored each, and when.",
		Long: "List the versions of a policy, the newest first: who stored each, and when. The\n" +
			"store keeps 100 of a policy, and those of a deleted policy for 30 days. policy\n" +
			"rollback stores one of them again.",
		Example: "  worker policy versions default\n  worker policy versions vip --json",
		Args:    cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withPolicies(cmd, func(policies *settings.Policies, _ redis.UniversalClient, _ config.Config) error {
				versions, err := policies.Versions(cmd.Context(), args[0])
				if err != nil {
					return fmt.Errorf("listing the versions: %w", err)
				}
				return c.printVersions(versions)
			})
		},
	}
}

func (c *commands) printVersions(versions []settings.PolicyVersion) error {
	if c.asJSON {
		list := message.PolicyVersions{Versions: make([]message.PolicyVersion, len(versions))}
		for i, v := range versions {
			list.Versions[i] = message.PolicyVersionOf(v.Version, v.At, v.By, v.Deleted, v.Policy)
		}
		return c.PrintJSON(list)
	}
	var s strings.Builder
	table := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VERSION\tSTORED\tBY\tPOLICY")
	for _, v := range versions {
		is := "can't be read: run the newer program that wrote it"
		switch {
		case v.Deleted:
			is = "deleted"
		case v.Policy != nil:
			is = v.Policy.String()
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", v.Version, cli.FormatTime(v.At, time.UTC), v.By, is)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("laying out the list: %w", err)
	}
	return c.Print(s.String())
}

// rollbackFlags are the flags of policy rollback.
type rollbackFlags struct {
	to    int64
	by    string
	refit *refitOptions
}

func (c *commands) rollbackCommand() *cobra.Command {
	var f rollbackFlags
	rollback := &cobra.Command{
		Use:   "rollback NAME --to VERSION",
		Short: "Store an earlier version of a policy again.",
		Long: "Store an earlier version of a policy again, under a new version. A deleted policy\n" +
			"comes back. --preview and --then are those of policy apply.",
		Example: "  worker policy versions default\n" +
			"  worker policy rollback default --to 7 --preview\n" +
			"  worker policy rollback default --to 7 --then shift",
		Args: cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.rollback(cmd, args[0], f) },
	}
	rollback.Flags().Int64Var(&f.to, "to", 0, "`version` to store again, as policy versions lists it")
	byFlag(rollback.Flags(), &f.by)
	f.refit = refitFlags(rollback.Flags())
	return rollback
}

func (c *commands) rollback(cmd *cobra.Command, name string, f rollbackFlags) error {
	ctx := cmd.Context()
	action, err := f.refit.check()
	if err == nil && f.to < 1 {
		err = cli.Usage(cmd, "to", "--to is missing: worker policy versions lists the versions")
	}
	if err != nil {
		return c.Report(c.asJSON, err)
	}
	return c.withPolicies(cmd, func(policies *settings.Policies, client redis.UniversalClient, cfg config.Config) error {
		if f.refit.preview {
			p, err := policies.Version(ctx, name, f.to)
			if err != nil {
				return fmt.Errorf("reading the version: %w", err)
			}
			return c.previewPolicy(ctx, client, cfg, p)
		}
		if err := store.PresentLayout.Check(ctx, client, cfg.Prefix); err != nil {
			return fmt.Errorf("looking at the layout of the store: %w", err)
		}
		change, err := policies.By(maker(f.by)).Rollback(ctx, name, f.to, settings.AnyVersion)
		if err != nil {
			return fmt.Errorf("rolling the policy back: %w", err)
		}
		if err := c.printApplied(change, action); err != nil {
			return err
		}
		return c.refitPolicy(ctx, client, cfg, change.New, action)
	})
}

func (c *commands) deleteCommand() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a policy that no user has.",
		Long: "Delete a policy that no user has: worker user list --policy finds those who have\n" +
			"it. The policy \"default\" can't be deleted. For 30 days, policy rollback brings a\n" +
			"deleted policy back. A worker whose settings have the policy stores it again when\n" +
			"it starts.",
		Example: "  worker user list --policy vip\n  worker policy delete vip",
		Args:    cli.Argument("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withPolicies(cmd, func(policies *settings.Policies, client redis.UniversalClient, cfg config.Config) error {
				if err := store.PresentLayout.Check(cmd.Context(), client, cfg.Prefix); err != nil {
					return fmt.Errorf("looking at the layout of the store: %w", err)
				}
				return c.delete(cmd.Context(), policies.By(maker(by)), args[0])
			})
		},
	}
	byFlag(cmd.Flags(), &by)
	return cmd
}

func (c *commands) delete(ctx context.Context, policies *settings.Policies, name string) error {
	if err := checkPolicyName(name); err != nil {
		return &fault.NoSuchError{What: "policy", Name: name}
	}
	if err := policies.Delete(ctx, name, settings.AnyVersion); err != nil {
		return fmt.Errorf("deleting the policy: %w", err)
	}
	if c.asJSON {
		return c.PrintJSON(message.PolicyDeletion{Outcome: message.PolicyDeleted, Policy: name})
	}
	return c.Print(c.Palette().Bold(name) + c.Names.Spell(": deleted; worker policy rollback brings it back within 30 days\n"))
}
