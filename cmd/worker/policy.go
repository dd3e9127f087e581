package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/rules"
)

// policyCommands are what the subcommands of policy have alike.
type policyCommands struct {
	program

	ctx    context.Context //nolint:containedctx // of the process, for as long as one command runs
	asJSON bool
}

func (p program) policyCommand(ctx context.Context) *cobra.Command {
	c := &policyCommands{program: p, ctx: ctx}
	group := &cobra.Command{
		Use:   "policy",
		Short: "List, show or replace the policies that every program on a store goes by.",
		Long: "List, show or replace the policies that every program on a store goes by: the\n" +
			"store of REDIS_URL, or else the embedded one of a worker that runs.\n\n" +
			"A policy says who may receive what, and when. \"default\" holds for every user for\n" +
			"whom worker user set has not named another.",
		Example: "  worker policy list\n" +
			"  worker policy show > rules.yaml\n" +
			"  worker policy apply rules.yaml --preview\n" +
			"  worker policy apply rules.yaml --then shift",
	}
	group.PersistentFlags().AddFlagSet(storeFlags())
	group.PersistentFlags().BoolVar(&c.asJSON, "json", false, "answer in JSON, an object a line")
	group.AddCommand(c.listCommand(), c.showCommand(), c.applyCommand())
	return group
}

// storeFlags are the flags that lead to a store.
func storeFlags() *pflag.FlagSet {
	all := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	config.RegisterFlags(all, config.Worker)
	some := pflag.NewFlagSet("store", pflag.ContinueOnError)
	for _, name := range []string{"redis-url", "embedded-address", "prefix", config.FileFlag} {
		some.AddFlag(all.Lookup(name))
	}
	return some
}

// on is a command that does something with the policies of a store.
func (c *policyCommands) on(
	cmd *cobra.Command, do func(policies *settings.Policies, client redis.UniversalClient, settings config.Config) error,
) error {
	return c.reported(c.asJSON, c.withStore(c.ctx, cmd.Flags(), func(client redis.UniversalClient, cfg config.Config) error {
		policies, err := settings.NewPolicies(client, cfg.Prefix)
		if err != nil {
			return fmt.Errorf("opening the policies: %w", err)
		}
		return do(policies, client, cfg)
	}))
}

func (c *policyCommands) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the policies.",
		Example: "  worker policy list\n  worker policy list --json",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.on(cmd, func(policies *settings.Policies, _ redis.UniversalClient, _ config.Config) error {
				all, unreadable, err := policies.All(c.ctx)
				if err != nil {
					return fmt.Errorf("listing the policies: %w", err)
				}
				return c.printPolicies(all, unreadable)
			})
		},
	}
}

func (c *policyCommands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show [NAME]",
		Short:   "Show a policy as policy apply reads it, \"default\" unless another is named.",
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
			return c.on(cmd, func(policies *settings.Policies, _ redis.UniversalClient, _ config.Config) error {
				return c.show(policies, name)
			})
		},
	}
}

func (c *policyCommands) show(policies *settings.Policies, name string) error {
	p, ok, err := policies.Load(c.ctx, name)
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
		return c.printJSON(document)
	}
	text, err := policyYAML(document)
	if err != nil {
		return err
	}
	return c.print(text)
}

// reported prints an error as JSON where that was asked for, unless it has been
// said already, or is that the context ended: by a signal, which decides about the
// exit status.
func (p program) reported(asJSON bool, err error) error {
	if _, said := errors.AsType[cli.StatusError](err); said || err == nil || !asJSON || errors.Is(err, context.Canceled) {
		return err
	}
	return cli.ReportJSON(p.stdout, err)
}

func (p program) printJSON(answer any) error {
	encoder := json.NewEncoder(p.stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

func (p program) print(answer string) error {
	if _, err := fmt.Fprint(p.stdout, answer); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}
