package groups

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

// Tier returns the group "sendlimit-worker tier".
func Tier(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "tier", Short: "Create, show and change tiers, which limit what accounts may send.",
		Long: "Create, show and change tiers, which limit what accounts may send. A change takes\n" +
			"effect for all accounts of the tier within a second in every process. Messages\n" +
			"already charged stay charged. If they are over a threshold of a lower\n" +
			"quota, the accounts' contacts are alerted. The thresholds of a higher quota alert\n" +
			"anew.",
		Example: "  sendlimit-worker tier set free --requests-per-minute 60 --messages-per-hour 100 --messages-per-day 500",
	}
	g := operations.NewGroup(p, group)
	set := &cobra.Command{
		Use: "set NAME", Short: "Create or change a tier, and show it.",
		Example: "  sendlimit-worker tier set free --requests-per-minute 60 --messages-per-hour 100 --messages-per-day 500\n" +
			"  sendlimit-worker tier set free --alert-at 50,80,100",
	}
	set.Flags().Int64("requests-per-minute", 0, "`number` of requests to the API of each kind: submits, reads, and changes; 0 is no limit")
	set.Flags().Int64("requests-per-day", 0, "`number` of requests of each kind in a natural day, in UTC; 0 is no limit")
	set.Flags().Int64("lines-per-minute", 0, "`number` of lines of batches over the API; a faster batch is slowed down; 0 is no limit")
	set.Flags().Int64("messages-per-hour", 0, "`number` of messages by their send times; 0 is no limit")
	set.Flags().Int64("messages-per-day", 0, "`number` of messages by their send times; 0 is no limit")
	set.Flags().Int64("devices", 0, "`number` of devices that an account may register, of all users; 0 is no limit")
	set.Flags().String("alert-at", "80,100", "`percents` of messages-per-day at which an account's contact is alerted, or never")
	set.RunE = g.Run(func(ctx context.Context, c *client.Client, args []string) error {
		tier, err := c.Tier(ctx, args[0])
		if err != nil && !errors.Is(err, client.ErrNotFound) {
			return err
		}
		if _, err = operations.Fill(set.Flags(), &tier.TierLimits); err != nil {
			return err
		}
		tier, err = c.SetTier(ctx, args[0], tier.TierLimits)
		return operations.Answer(g, tier, err, tierText)
	})
	group.AddCommand(set, &cobra.Command{
		Use: "list", Short: "List the tiers.", Example: "  sendlimit-worker tier list --json",
		RunE: operations.List(g, (*client.Client).ListTiers, client.ListTiersQuery{Limit: pageSize}, operations.Table[client.Tier]{
			Header: "NAME\tREQUESTS/MINUTE\tREQUESTS/DAY\tLINES/MINUTE\tMESSAGES/HOUR\tMESSAGES/DAY\tDEVICES\tALERT AT",
			Row:    tierRow, None: "There are no tiers: see sendlimit-worker tier set.\n",
		}),
	}, &cobra.Command{
		Use: "show NAME", Short: "Show a tier.", Example: "  sendlimit-worker tier show free",
		RunE: operations.One(g, (*client.Client).Tier, tierText),
	}, &cobra.Command{
		Use: "remove NAME", Short: "Remove a tier that no account uses.", Example: "  sendlimit-worker account set acme --tier business\n  sendlimit-worker tier remove free",
		RunE: operations.One(g, (*client.Client).RemoveTier, func(r client.TierRemoval) string { return "removed the tier " + r.Tier + "\n" }),
	})
	return group
}

// tierRow returns the cells of a tier.
func tierRow(t client.Tier) []string {
	row := []string{t.Name}
	for _, limit := range []int64{t.RequestsPerMinute, t.RequestsPerDay, t.LinesPerMinute, t.MessagesPerHour, t.MessagesPerDay, t.Devices} {
		row = append(row, cli.FormatLimit(limit))
	}
	return append(row, cli.FormatAlertAt(t.AlertAt))
}

// tierText describes a tier for a person.
func tierText(t client.Tier) string {
	var s strings.Builder
	names := strings.Fields("name requests_per_minute requests_per_day lines_per_minute messages_per_hour messages_per_day devices alert_at")
	for i, value := range tierRow(t) {
		s.WriteString(names[i] + ": " + value + "\n")
	}
	return s.String()
}
