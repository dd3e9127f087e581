package policy

import (
	"context"
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

func (c *commands) versions(ctx context.Context, api *client.Client, args []string) error {
	all, err := api.ListPolicyVersions(ctx, args[0])
	switch {
	case err != nil:
		return err
	case c.JSON:
		return c.PrintJSON(all)
	}
	return operations.Table[client.PolicyVersion]{Header: "VERSION\tSTORED\tBY\tPOLICY", Row: versionRow}.Answer(c.Group, operations.Each(all.Versions))
}

// versionRow returns the cells of a version.
func versionRow(v client.PolicyVersion) []string {
	is := "can't be read: run the newer program that wrote it"
	switch {
	case v.Deleted:
		is = "deleted"
	case v.Policy != nil:
		if p, err := policy.Document(*v.Policy).Policy(); err == nil {
			is = p.String()
		}
	}
	return []string{strconv.FormatInt(v.Version, 10), cli.FormatTime(v.At.Time, time.UTC), v.By, is}
}

// rollbackFlags are the flags of policy rollback.
type rollbackFlags struct {
	to    int64
	refit *refitOptions
}

func (c *commands) rollbackCommand() *cobra.Command {
	var f rollbackFlags
	rollback := &cobra.Command{
		Use: "rollback NAME --to VERSION", Short: "Store an earlier version of a policy again.",
		Long: "Store an earlier version of a policy again, under a new version. A deleted policy\n" +
			"comes back. --dry-run and --then are as in policy apply.",
		Example: "  sendlimit-worker policy versions default\n" +
			"  sendlimit-worker policy rollback default --to 7 --dry-run\n" +
			"  sendlimit-worker policy rollback default --to 7 --then shift",
		RunE: func(cmd *cobra.Command, args []string) error { return c.rollback(cmd, args, f) },
	}
	rollback.Flags().Int64Var(&f.to, "to", 0, "`version` to store again, as policy versions lists it")
	f.refit = refitFlags(rollback.Flags())
	return rollback
}

func (c *commands) rollback(cmd *cobra.Command, args []string, f rollbackFlags) error {
	action, err := f.refit.check()
	if err == nil && f.to < 1 {
		err = cli.Usage(cmd, "to", "--to is missing: sendlimit-worker policy versions lists the versions")
	}
	if err != nil {
		return err
	}
	return c.With(cmd, func(ctx context.Context, api *client.Client) error {
		if !f.refit.dryRun {
			change, err := api.RollbackPolicy(ctx, args[0], client.PolicyRollback{Version: f.to})
			return c.applied(ctx, api, change, err, action)
		}
		all, err := api.ListPolicyVersions(ctx, args[0])
		if err != nil {
			return err
		}
		versions := all.Versions
		at := slices.IndexFunc(versions, func(v client.PolicyVersion) bool { return v.Version == f.to })
		switch {
		case at < 0:
			return &fault.NoSuchError{What: fmt.Sprintf("version %d of policy", f.to), Name: args[0]}
		case versions[at].Policy == nil:
			return fault.Wrong("version", "version %d of policy %s is a deletion, or needs a newer program: choose another version", f.to, args[0])
		}
		return c.watch(api.DryRunPolicy(ctx, args[0], *versions[at].Policy))
	})
}
