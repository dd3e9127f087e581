package account

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

// TierCommand returns the group "worker tier".
func TierCommand(p cli.Program) *cobra.Command {
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
	a := &commands{operations.NewGroup(p, group)}
	group.AddCommand(a.setTierCommand(), a.listTiersCommand(), a.showTierCommand(), a.removeTierCommand())
	return group
}

func (a *commands) setTierCommand() *cobra.Command {
	var given client.TierLimits
	var alertAt string
	set := a.command("set NAME", "Create a tier, or change it as the flags say, and show it.",
		"  worker tier set free --requests-per-minute 60 --messages-per-hour 100 --messages-per-day 500\n"+
			"  worker tier set free --alert-at 50,80,100",
		cli.Argument("NAME"), func(cmd *cobra.Command, args []string, c *client.Client) error {
			tier, err := c.Tier(cmd.Context(), args[0])
			if err != nil && !errors.Is(err, client.ErrNotFound) {
				return err
			}
			for name, field := range map[string]struct{ into, from *int64 }{
				"requests-per-minute": {&tier.RequestsPerMinute, &given.RequestsPerMinute},
				"requests-per-day":    {&tier.RequestsPerDay, &given.RequestsPerDay},
				"lines-per-minute":    {&tier.LinesPerMinute, &given.LinesPerMinute},
				"messages-per-hour":   {&tier.MessagesPerHour, &given.MessagesPerHour},
				"messages-per-day":    {&tier.MessagesPerDay, &given.MessagesPerDay},
				"devices":             {&tier.Devices, &given.Devices},
			} {
				if cmd.Flags().Changed(name) {
					*field.into = *field.from
				}
			}
			if cmd.Flags().Changed("alert-at") {
				if tier.AlertAt, err = cli.ParseAlertAt(alertAt); err != nil {
					return err
				}
			}
			tier, err = c.SetTier(cmd.Context(), args[0], tier.TierLimits)
			return operations.Answer(a.Group, tier, err, tierText)
		})
	set.Flags().Int64Var(&given.RequestsPerMinute, "requests-per-minute", 0, "`number` of requests to the API of each kind: submits, reads, and changes; 0 is no limit")
	set.Flags().Int64Var(&given.RequestsPerDay, "requests-per-day", 0, "`number` of requests of each kind in a natural day, in UTC; 0 is no limit")
	set.Flags().Int64Var(&given.LinesPerMinute, "lines-per-minute", 0, "`number` of lines of batches over the API; a batch waits for the next one; 0 is no limit")
	set.Flags().Int64Var(&given.MessagesPerHour, "messages-per-hour", 0, "`number` of messages by their send times; 0 is no limit")
	set.Flags().Int64Var(&given.MessagesPerDay, "messages-per-day", 0, "`number` of messages by their send times; 0 is no limit")
	set.Flags().Int64Var(&given.Devices, "devices", 0, "`number` of devices that an account may have registered, of all users; 0 is no limit")
	set.Flags().StringVar(&alertAt, "alert-at", "80,100",
		"`percents` of messages-per-day at which an account's contact is alerted, or never")
	return set
}

func (a *commands) listTiersCommand() *cobra.Command {
	return a.command("list", "List the tiers.", "  worker tier list --json", cli.NoArguments,
		func(cmd *cobra.Command, _ []string, c *client.Client) error {
			return operations.AnswerTable(a.Group, c.ListTiers(cmd.Context(), client.ListTiersQuery{Limit: pageSize}), "NAME\tREQUESTS/MINUTE\tREQUESTS/DAY\tLINES/MINUTE\tMESSAGES/HOUR\tMESSAGES/DAY\tDEVICES\tALERT AT",
				func(t client.Tier) string {
					return strings.Join([]string{
						t.Name, cli.FormatLimit(t.RequestsPerMinute), cli.FormatLimit(t.RequestsPerDay), cli.FormatLimit(t.LinesPerMinute),
						cli.FormatLimit(t.MessagesPerHour), cli.FormatLimit(t.MessagesPerDay), cli.FormatLimit(t.Devices), cli.FormatAlertAt(t.AlertAt),
					}, "\t")
				}, "There are no tiers: worker tier set NAME makes one.\n")
		})
}

func (a *commands) showTierCommand() *cobra.Command {
	return a.command("show NAME", "Show a tier.", "  worker tier show free", cli.Argument("NAME"),
		func(cmd *cobra.Command, args []string, c *client.Client) error {
			tier, err := c.Tier(cmd.Context(), args[0])
			return operations.Answer(a.Group, tier, err, tierText)
		})
}

func (a *commands) removeTierCommand() *cobra.Command {
	return a.command("remove NAME", "Remove a tier that no account uses.", "  worker account set acme --tier business\n  worker tier remove free", cli.Argument("NAME"),
		func(cmd *cobra.Command, args []string, c *client.Client) error {
			removed, err := c.RemoveTier(cmd.Context(), args[0])
			return operations.Answer(a.Group, removed, err, func(client.TierRemoval) string { return "removed the tier " + args[0] + "\n" })
		})
}

// tierText describes a tier for a person.
func tierText(t client.Tier) string {
	return fmt.Sprintf("name: %s\nrequests_per_minute: %s\nrequests_per_day: %s\nlines_per_minute: %s\nmessages_per_hour: %s\nmessages_per_day: %s\ndevices: %s\nalert_at: %s\n",
		t.Name, cli.FormatLimit(t.RequestsPerMinute), cli.FormatLimit(t.RequestsPerDay), cli.FormatLimit(t.LinesPerMinute), cli.FormatLimit(t.MessagesPerHour), cli.FormatLimit(t.MessagesPerDay), cli.FormatLimit(t.Devices), cli.FormatAlertAt(t.AlertAt))
}
