package account

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// TierCommand returns the group "worker tier".
func TierCommand(p cli.Program) *cobra.Command {
	a := &commands{Program: p}
	group := &cobra.Command{
		Use:   "tier",
		Short: "Create, show and change tiers, which limit what accounts may send.",
		Long: "Create, show and change tiers, which limit what accounts may send. A change takes\n" +
			"effect for all accounts of the tier within a second in every process. Messages\n" +
			"that are already charged stay charged. If they are past a threshold of a lower\n" +
			"quota, the accounts' contacts are alerted. The thresholds of a higher quota alert\n" +
			"anew.",
		Example: "  worker tier set free --requests-per-minute 60 --messages-per-hour 100 --messages-per-day 500",
	}
	group.PersistentFlags().AddFlagSet(cli.StoreFlags())
	group.PersistentFlags().BoolVar(&a.asJSON, "json", false, "answer with one line of JSON")
	group.AddCommand(a.setTierCommand(), a.listTiersCommand(), a.showTierCommand(), a.removeTierCommand())
	return group
}

func (a *commands) setTierCommand() *cobra.Command {
	var given accounts.Tier
	var alertAt string
	set := a.command("set NAME", "Create a tier, or change it as the flags say, and show it.", cli.Argument("NAME"),
		func(ctx context.Context, accounts *accounts.Accounts, flags *pflag.FlagSet, args []string) error {
			tier, _, err := accounts.GetTier(ctx, args[0])
			if err != nil {
				return fmt.Errorf("looking at the tier: %w", err)
			}
			tier.Name = args[0]
			for name, field := range map[string]struct{ into, from *int64 }{
				"requests-per-minute": {&tier.RequestsPerMinute, &given.RequestsPerMinute},
				"requests-per-day":    {&tier.RequestsPerDay, &given.RequestsPerDay},
				"lines-per-minute":    {&tier.LinesPerMinute, &given.LinesPerMinute},
				"messages-per-hour":   {&tier.MessagesPerHour, &given.MessagesPerHour},
				"messages-per-day":    {&tier.MessagesPerDay, &given.MessagesPerDay},
				"devices":             {&tier.Devices, &given.Devices},
			} {
				if flags.Changed(name) {
					*field.into = *field.from
				}
			}
			if flags.Changed("alert-at") {
				if tier.AlertAt, err = cli.ParseAlertAt(alertAt); err != nil {
					return err
				}
			}
			if err := a.charges.SetTier(ctx, accounts, tier); err != nil {
				return fmt.Errorf("setting the tier: %w", err)
			}
			return a.printTier(tier)
		})
	set.Flags().Int64Var(&given.RequestsPerMinute, "requests-per-minute", 0, "`number` of requests to the API of each kind: submits, reads, and changes; 0 is no limit")
	set.Flags().Int64Var(&given.RequestsPerDay, "requests-per-day", 0, "`number` of requests of each kind in a natural day, in UTC; 0 is no limit")
	set.Flags().Int64Var(&given.LinesPerMinute, "lines-per-minute", 0, "`number` of lines of batches over the API; a batch waits for the next one; 0 is no limit")
	set.Flags().Int64Var(&given.MessagesPerHour, "messages-per-hour", 0, "`number` of messages by their send times; 0 is no limit")
	set.Flags().Int64Var(&given.MessagesPerDay, "messages-per-day", 0, "`number` of messages by their send times; 0 is no limit")
	set.Flags().Int64Var(&given.Devices, "devices", 0, "`number` of devices that an account may have registered, of all users; 0 is no limit")
	set.Flags().StringVar(&alertAt, "alert-at", "80,100",
		"`percents` of messages-per-day at which an account's contact is alerted, or never")
	set.Example = "  worker tier set free --requests-per-minute 60 --messages-per-hour 100 --messages-per-day 500\n" +
		"  worker tier set free --alert-at 50,80,100"
	return set
}

func (a *commands) listTiersCommand() *cobra.Command {
	list := a.command("list", "List the tiers.", cli.NoArguments,
		func(ctx context.Context, accounts *accounts.Accounts, _ *pflag.FlagSet, _ []string) error {
			all, err := accounts.ListTiers(ctx)
			if err != nil {
				return fmt.Errorf("listing the tiers: %w", err)
			}
			if a.asJSON {
				list := message.Tiers{Tiers: make([]message.Tier, len(all))}
				for i, tier := range all {
					list.Tiers[i] = api.TierOf(tier)
				}
				return a.PrintJSON(list)
			}
			if len(all) == 0 {
				return a.PrintHint("There are no tiers: worker tier set NAME makes one.\n")
			}
			return a.printTable("NAME\tREQUESTS/MINUTE\tREQUESTS/DAY\tLINES/MINUTE\tMESSAGES/HOUR\tMESSAGES/DAY\tDEVICES\tALERT AT", func(row func(...any)) {
				for _, tier := range all {
					row(tier.Name, cli.FormatLimit(tier.RequestsPerMinute), cli.FormatLimit(tier.RequestsPerDay), cli.FormatLimit(tier.LinesPerMinute),
						cli.FormatLimit(tier.MessagesPerHour), cli.FormatLimit(tier.MessagesPerDay), cli.FormatLimit(tier.Devices), cli.FormatAlertAt(tier.AlertAt))
				}
			})
		})
	list.Example = "  worker tier list --json"
	return list
}

func (a *commands) showTierCommand() *cobra.Command {
	show := a.command("show NAME", "Show a tier.", cli.Argument("NAME"),
		func(ctx context.Context, accounts *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			tier, ok, err := accounts.GetTier(ctx, args[0])
			if err != nil {
				return fmt.Errorf("looking at the tier: %w", err)
			}
			if !ok {
				return &fault.NoSuchError{What: "tier", Name: args[0]}
			}
			return a.printTier(tier)
		})
	show.Example = "  worker tier show free"
	return show
}

func (a *commands) removeTierCommand() *cobra.Command {
	remove := a.command("remove NAME", "Remove a tier that no account uses.", cli.Argument("NAME"),
		func(ctx context.Context, accounts *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			if err := accounts.RemoveTier(ctx, args[0]); err != nil {
				return fmt.Errorf("removing the tier: %w", err)
			}
			if a.asJSON {
				return a.PrintJSON(message.TierRemoval{Outcome: message.TierRemoved, Tier: args[0]})
			}
			return a.Print("removed the tier " + args[0] + "\n")
		})
	remove.Example = "  worker account set acme --tier business\n  worker tier remove free"
	return remove
}

func (a *commands) printTier(t accounts.Tier) error {
	if a.asJSON {
		return a.PrintJSON(api.TierOf(t))
	}
	return a.Print(fmt.Sprintf("name: %s\nrequests_per_minute: %s\nrequests_per_day: %s\nlines_per_minute: %s\nmessages_per_hour: %s\nmessages_per_day: %s\ndevices: %s\nalert_at: %s\n",
		t.Name, cli.FormatLimit(t.RequestsPerMinute), cli.FormatLimit(t.RequestsPerDay), cli.FormatLimit(t.LinesPerMinute), cli.FormatLimit(t.MessagesPerHour), cli.FormatLimit(t.MessagesPerDay), cli.FormatLimit(t.Devices), cli.FormatAlertAt(t.AlertAt)))
}
