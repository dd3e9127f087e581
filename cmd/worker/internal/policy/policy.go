package policy

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// commands is shared by the subcommands of policy.
type commands struct{ *operations.Group }

// Command returns the group "sendlimit-worker policy".
func Command(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "policy", Short: "List, show, replace or delete the policies of a store.",
		Long: "List, show, replace or delete the policies of a store: the store of REDIS_URL,\n" +
			"or the embedded one of a running worker.\n\n" +
			"A policy limits how many messages a user receives, and when. Every program on the\n" +
			"store follows it. \"default\" applies to every user without another policy: see\n" +
			"sendlimit-worker user set --policy.",
		Example: "  sendlimit-worker policy list\n" +
			"  sendlimit-worker policy show > rules.yaml\n" +
			"  sendlimit-worker policy apply rules.yaml --dry-run\n" +
			"  sendlimit-worker policy apply rules.yaml --then shift",
	}
	c := &commands{operations.NewGroup(p, group)}
	group.AddCommand(c.applyCommand(), c.rollbackCommand(), &cobra.Command{
		Use: "list", Short: "List the policies.", Example: "  sendlimit-worker policy list\n  sendlimit-worker policy list --json",
		RunE: operations.List(c.Group, (*client.Client).ListPolicies, client.ListPoliciesQuery{}, operations.Table[client.ListedPolicy]{
			Header: "NAME\tVERSION\tRULES\tTIME ZONE\tQUIET HOURS", Row: row,
			None: "There are no policies yet: start a worker on the store, or run sendlimit-worker policy apply FILE.\n",
		}),
	}, &cobra.Command{
		Use: "show [NAME]", Short: "Show a policy in the format of policy apply; without NAME, \"default\".",
		Example: "  sendlimit-worker policy show > rules.yaml\n  sendlimit-worker policy show vip --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Argument("NAME")(cmd, args)
			}
			return nil
		},
		RunE: c.Run(c.show),
	}, &cobra.Command{
		Use: "versions NAME", Short: "List the versions of a policy: who stored each, and when.",
		Long: "List the versions of a policy, newest first: who stored each, and when. The store\n" +
			"keeps 100 of a policy, and those of a deleted policy for 30 days. policy rollback\n" +
			"stores one of them again.",
		Example: "  sendlimit-worker policy versions default\n  sendlimit-worker policy versions vip --json",
		RunE:    c.Run(c.versions),
	}, &cobra.Command{
		Use: "delete NAME", Short: "Delete an unused policy.",
		Long: "Delete an unused policy: sendlimit-worker user list --policy finds its users. The\n" +
			"policy \"default\" can't be deleted. For 30 days, policy rollback restores a\n" +
			"deleted policy. A worker whose settings have the policy stores it again when\n" +
			"it starts.",
		Example: "  sendlimit-worker user list --policy vip\n  sendlimit-worker policy delete vip",
		RunE: c.Run(func(ctx context.Context, api *client.Client, args []string) error {
			deleted, err := api.DeletePolicy(ctx, args[0])
			return operations.Answer(c.Group, deleted, err, func(client.PolicyDeletion) string {
				return c.Palette().Bold(args[0]) + ": deleted; sendlimit-worker policy rollback restores it within 30 days\n"
			})
		}),
	})
	return group
}

func (c *commands) show(ctx context.Context, api *client.Client, args []string) error {
	name := policy.DefaultName
	if len(args) == 1 {
		name = args[0]
	}
	p, err := api.Policy(ctx, name)
	switch {
	case errors.Is(err, client.ErrNotFound) && name == policy.DefaultName:
		return rules.NoRules()
	case err != nil:
		return err
	case c.JSON:
		return c.PrintJSON(p)
	}
	text, err := policyview.YAML(policy.Document(p))
	if err != nil {
		return err
	}
	return c.Print(text)
}

// row returns the cells of a policy.
func row(listed client.ListedPolicy) []string {
	p, err := policy.Document(listed.Policy).Policy()
	if err != nil || listed.Unreadable {
		return []string{listed.Name, "?", "can't be read: apply it again, or run the newer program that wrote it", "", ""}
	}
	return []string{p.Name, strconv.FormatInt(p.Version, 10), rulesCell(p), zoneCell(p), cmp.Or(p.QuietHours.String(), policyview.None)}
}

// rulesCell returns all rules of a policy, including those of its categories.
func rulesCell(p policy.Policy) string {
	cell := []string{strings.Join(p.Document().Rules, ", ")}
	for _, name := range slices.Sorted(maps.Keys(p.Categories)) {
		cell = append(cell, name+" "+p.Categories[name].String())
	}
	return strings.Join(cell, "; ")
}

func zoneCell(p policy.Policy) string {
	zone := cmp.Or(p.TimeZone, "UTC")
	if p.UserTimeZone {
		return "the user's, else " + zone
	}
	return zone
}
