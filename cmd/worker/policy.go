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
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/sendlimit"
)

func (p program) policyCommand(ctx context.Context) *cobra.Command {
	group := &cobra.Command{
		Use:   "policy",
		Short: "Show or replace the rules that every program on a store goes by.",
		Long: "Show or replace the rules that every program on a store goes by: the store of\n" +
			"REDIS_URL, or else the embedded one of a worker that runs.",
		Example: "  worker policy show > rules.yaml\n  worker policy apply rules.yaml",
	}
	var asJSON bool
	group.PersistentFlags().AddFlagSet(storeFlags())
	group.PersistentFlags().BoolVar(&asJSON, "json", false, "answer with one line of JSON")

	show := &cobra.Command{
		Use:     "show",
		Short:   "Show the rules, as policy apply reads them.",
		Example: "  worker policy show > rules.yaml",
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reported(asJSON, p.showPolicy(ctx, cmd.Flags(), asJSON))
		},
	}
	apply := &cobra.Command{
		Use:   "apply FILE",
		Short: "Replace the rules by those of a YAML or JSON file, - for standard input.",
		Long: "Replace the rules by those of a YAML or JSON file, - for standard input:\n\n" +
			"  time_zone: Europe/Berlin    # of the calendar rules; UTC where there is none\n" +
			"  rules: [1/minute, 5/hour, 10/calendar_day]\n" +
			"  alert_at: [80, 100]         # percent of a daily rule that alert a user's contact\n" +
			"  alert_to: ops@example.com   # told once an hour of such users; nobody where it is left out\n\n" +
			"They hold from the next decision on, in every program within seconds. Messages\n" +
			"that are scheduled already keep their places.",
		Example: "  worker policy apply rules.yaml\n" +
			"  echo '{\"rules\": [\"1/minute\", \"10/calendar_day\"]}' | worker policy apply -",
		Args: cli.Argument("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.reported(asJSON, p.applyPolicy(ctx, cmd.Flags(), args[0], asJSON))
		},
	}
	group.AddCommand(show, apply)
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

// reported prints an error as JSON where that was asked for.
func (p program) reported(asJSON bool, err error) error {
	if err == nil || !asJSON {
		return err
	}
	return cli.ReportJSON(p.stdout, err)
}

func (p program) showPolicy(ctx context.Context, flags *pflag.FlagSet, asJSON bool) error {
	return p.withPolicies(ctx, flags, func(policies *policies) error {
		// The layout comes second, since a look at it marks a new store.
		policy, ok, err := policies.Load(ctx, sendlimit.DefaultPolicyName)
		if err != nil {
			return fmt.Errorf("showing the rules: %w", err)
		}
		if !ok {
			return &sendlimit.UnavailableError{
				Detail: "the store has no rules yet: start a worker on it, or give it some with worker policy apply FILE",
			}
		}
		if err := policies.checkLayout(ctx); err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(documentOf(policy))
		}
		return p.print(documentOf(policy).String())
	})
}

func (p program) applyPolicy(ctx context.Context, flags *pflag.FlagSet, file string, asJSON bool) error {
	policy, err := readPolicy(file, p.stdin)
	if err != nil {
		return err
	}
	return p.withPolicies(ctx, flags, func(policies *policies) error {
		if err := policies.checkLayout(ctx); err != nil {
			return err
		}
		old, had, err := policies.Load(ctx, policy.Name)
		if err != nil {
			return fmt.Errorf("looking at the rules to replace: %w", err)
		}
		if err := policies.Apply(ctx, policy); err != nil {
			return fmt.Errorf("replacing the rules: %w", err)
		}
		answer := applied{New: documentOf(policy)}
		if had {
			before := documentOf(old)
			answer.Old = &before
		}
		if asJSON {
			return p.printJSON(answer)
		}
		return p.print(answer.String())
	})
}

// policies are the policies of a store that is fit to be used.
type policies struct {
	*sendlimit.PolicyStore

	client redis.UniversalClient
	prefix string
}

func (p *policies) checkLayout(ctx context.Context) error {
	if err := sendlimit.CheckLayout(ctx, p.client, p.prefix); err != nil {
		return fmt.Errorf("looking at the layout of the store: %w", err)
	}
	return nil
}

// withPolicies calls do with the policies of the store that the settings name.
func (p program) withPolicies(ctx context.Context, flags *pflag.FlagSet, do func(*policies) error) (err error) {
	settings, err := p.load(flags, store.ValidURL)
	if err != nil {
		return err
	}
	client, err := store.Open(settings.StoreURL(), store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, storage{client: client}.close()) }()
	if _, err := store.Inspect(ctx, client); err != nil {
		return err
	}
	opened, err := sendlimit.NewPolicyStore(client, settings.Prefix)
	if err != nil {
		return fmt.Errorf("opening the policies: %w", err)
	}
	return do(&policies{PolicyStore: opened, client: client, prefix: settings.Prefix})
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
