package policy

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// commands is what the subcommands of policy share.
type commands struct{ *operations.Group }

// Command returns the group "worker policy".
func Command(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use:   "policy",
		Short: "List, show, replace or delete the policies of a store.",
		Long: "List, show, replace or delete the policies of a store: the store of REDIS_URL, or\n" +
			"else the embedded one of a running worker.\n\n" +
			"A policy says how many messages a user may receive, and when. Every program on the\n" +
			"store follows it. \"default\" applies to every user for whom worker user set has\n" +
			"not named another policy.",
		Example: "  worker policy list\n" +
			"  worker policy show > rules.yaml\n" +
			"  worker policy apply rules.yaml --preview\n" +
			"  worker policy apply rules.yaml --then shift",
	}
	c := &commands{operations.NewGroup(p, group)}
	group.AddCommand(c.listCommand(), c.showCommand(), c.applyCommand(), c.versionsCommand(), c.rollbackCommand(), c.deleteCommand())
	return group
}

func (c *commands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the policies.",
		Example: "  worker policy list\n  worker policy list --json",
		Args:    cli.NoArguments,
		RunE: c.Run(func(cmd *cobra.Command, _ []string, api *client.Client) error {
			return operations.AnswerTable(c.Group, api.ListPolicies(cmd.Context(), client.ListPoliciesQuery{}), "NAME\tVERSION\tRULES\tTIME ZONE\tQUIET HOURS", row,
				"There are no policies yet: start a worker on the store, or give it one with worker policy apply FILE.\n")
		}),
	}
}

func (c *commands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show [NAME]",
		Short:   "Show a policy as policy apply reads it. Without NAME, show \"default\".",
		Example: "  worker policy show > rules.yaml\n  worker policy show vip --json",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.Argument("NAME")(cmd, args)
			}
			return nil
		},
		RunE: c.Run(func(cmd *cobra.Command, args []string, api *client.Client) error {
			name := policy.DefaultName
			if len(args) == 1 {
				name = args[0]
			}
			p, err := api.Policy(cmd.Context(), name)
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
		}),
	}
}
