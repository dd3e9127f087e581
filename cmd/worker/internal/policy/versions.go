package policy

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func (c *commands) versionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "versions NAME",
		Short: "List the versions of a policy: who stored each, and when.",
		Long: "List the versions of a policy, the newest first: who stored each, and when. The\n" +
			"store keeps 100 of a policy, and those of a deleted policy for 30 days. policy\n" +
			"rollback stores one of them again.",
		Example: "  worker policy versions default\n  worker policy versions vip --json",
		Args:    cli.Argument("NAME"),
		RunE: c.Run(func(cmd *cobra.Command, args []string, api *client.Client) error {
			all, err := api.ListPolicyVersions(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case c.JSON:
				return c.PrintJSON(all)
			}
			return operations.AnswerTable(c.Group, operations.Each(all.Versions), "VERSION\tSTORED\tBY\tPOLICY", versionRow, "")
		}),
	}
}

// versionRow returns the cells of a version.
func versionRow(v client.PolicyVersion) string {
	is := "can't be read: run the newer program that wrote it"
	switch {
	case v.Deleted:
		is = "deleted"
	case v.Policy != nil:
		if p, err := policy.Document(*v.Policy).Policy(); err == nil {
			is = p.String()
		}
	}
	return fmt.Sprintf("%d\t%s\t%s\t%s", v.Version, cli.FormatTime(v.At.Time, time.UTC), v.By, is)
}

// rollbackFlags are the flags of policy rollback.
type rollbackFlags struct {
	to    int64
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
		RunE: func(cmd *cobra.Command, args []string) error { return c.rollback(cmd, args, f) },
	}
	rollback.Flags().Int64Var(&f.to, "to", 0, "`version` to store again, as policy versions lists it")
	f.refit = refitFlags(rollback.Flags())
	return rollback
}

func (c *commands) rollback(cmd *cobra.Command, args []string, f rollbackFlags) error {
	action, err := f.refit.check()
	if err == nil && f.to < 1 {
		err = cli.Usage(cmd, "to", "--to is missing: worker policy versions lists the versions")
	}
	if err != nil {
		return c.Report(c.JSON, err)
	}
	return c.Run(func(cmd *cobra.Command, args []string, api *client.Client) error {
		if !f.refit.preview {
			change, err := api.RollbackPolicy(cmd.Context(), args[0], client.PolicyRollback{Version: f.to})
			return c.applied(cmd, api, change, err, action)
		}
		all, err := api.ListPolicyVersions(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		versions := all.Versions
		at := slices.IndexFunc(versions, func(v client.PolicyVersion) bool { return v.Version == f.to })
		switch {
		case at < 0:
			return &fault.NoSuchError{What: "version of policy " + args[0], Name: strconv.FormatInt(f.to, 10)}
		case versions[at].Policy == nil:
			return fault.Wrong("version", "version %d of policy %s is its deletion, or can't be read here: choose another one", f.to, args[0])
		}
		return c.watch(api.PreviewPolicy(cmd.Context(), args[0], *versions[at].Policy))
	})(cmd, args)
}

func (c *commands) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME",
		Short: "Delete a policy that no user has.",
		Long: "Delete a policy that no user has: worker user list --policy finds those who have\n" +
			"it. The policy \"default\" can't be deleted. For 30 days, policy rollback brings a\n" +
			"deleted policy back. A worker whose settings have the policy stores it again when\n" +
			"it starts.",
		Example: "  worker user list --policy vip\n  worker policy delete vip",
		Args:    cli.Argument("NAME"),
		RunE: c.Run(func(cmd *cobra.Command, args []string, api *client.Client) error {
			deleted, err := api.DeletePolicy(cmd.Context(), args[0])
			return operations.Answer(c.Group, deleted, err, func(client.PolicyDeletion) string {
				return c.Palette().Bold(args[0]) + ": deleted; worker policy rollback brings it back within 30 days\n"
			})
		}),
	}
}
