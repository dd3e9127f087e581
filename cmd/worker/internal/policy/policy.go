package policy

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/policyview"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// commands is what the subcommands of policy share.
type commands struct {
	cli.Program

	asJSON bool
}

// Command returns the group "worker policy".
func Command(p cli.Program) *cobra.Command {
	c := &commands{Program: p}
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
	group.PersistentFlags().AddFlagSet(cli.StoreFlags())
	group.PersistentFlags().BoolVar(&c.asJSON, "json", false, "answer in JSON, one object a line")
	group.AddCommand(c.listCommand(), c.showCommand(), c.applyCommand(), c.versionsCommand(), c.rollbackCommand(), c.deleteCommand())
	return group
}

// withPolicies calls do with the policies of the store that the settings name.
func (c *commands) withPolicies(
	cmd *cobra.Command, do func(policies *settings.Policies, client redis.UniversalClient, settings config.Config) error,
) error {
	return c.Report(c.asJSON, store.With(cmd.Context(), c.Program, cmd.Flags(), func(client redis.UniversalClient, cfg config.Config) error {
		policies, err := settings.NewPolicies(client, cfg.Prefix)
		if err != nil {
			return fmt.Errorf("opening the policies: %w", err)
		}
		return do(policies, client, cfg)
	}))
}

func (c *commands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the policies.",
		Example: "  worker policy list\n  worker policy list --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withPolicies(cmd, func(policies *settings.Policies, _ redis.UniversalClient, _ config.Config) error {
				all, unreadable, err := policies.All(cmd.Context())
				if err != nil {
					return fmt.Errorf("listing the policies: %w", err)
				}
				return c.printPolicies(all, unreadable)
			})
		},
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
		RunE: func(cmd *cobra.Command, args []string) error {
			name := policy.DefaultName
			if len(args) == 1 {
				name = args[0]
			}
			return c.withPolicies(cmd, func(policies *settings.Policies, _ redis.UniversalClient, _ config.Config) error {
				return c.show(cmd.Context(), policies, name)
			})
		},
	}
}

func (c *commands) show(ctx context.Context, policies *settings.Policies, name string) error {
	p, ok, err := policies.Load(ctx, name)
	switch {
	case err != nil:
		return fmt.Errorf("showing the rules: %w", err)
	case !ok && name == policy.DefaultName:
		return rules.NoRules()
	case !ok:
		return &fault.NoSuchError{What: "policy", Name: name}
	}
	document := p.Document().Spelled()
	if c.asJSON {
		return c.PrintJSON(document)
	}
	text, err := policyview.YAML(document)
	if err != nil {
		return err
	}
	return c.Print(text)
}
