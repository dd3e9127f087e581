package account

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

func (a *commands) listCommand() *cobra.Command {
	list := a.command("list", "List the accounts.", cli.NoArguments,
		func(ctx context.Context, accounts *accounts.Accounts, _ *pflag.FlagSet, _ []string) error {
			all, err := accounts.List(ctx)
			if err != nil {
				return fmt.Errorf("listing the accounts: %w", err)
			}
			if a.asJSON {
				list := message.Accounts{Accounts: make([]message.Account, len(all))}
				for i, account := range all {
					list.Accounts[i] = api.AccountOf(account)
				}
				return a.PrintJSON(list)
			}
			if len(all) == 0 {
				return a.PrintHint("There are no accounts: worker account create NAME makes one.\n")
			}
			return a.printTable("NAME\tTIER\tKEYS\tCONTACT\tSTATE", func(row func(...any)) {
				for _, account := range all {
					row(account.Name, cmp.Or(account.Tier, "-"), len(account.Keys), cmp.Or(account.Contact, "-"), stateOf(account))
				}
			})
		})
	list.Example = "  worker account list --json"
	return list
}

func (a *commands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show an account, its keys without the secrets, and how much of its quota is used.",
		Args: cli.Argument("NAME"), Example: "  worker account show acme",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.Report(a.asJSON, store.With(ctx, a.Program, cmd.Flags(), func(client redis.UniversalClient, c config.Config) error {
				directory, err := accounts.New(client, c.Prefix)
				if err != nil {
					return fmt.Errorf("opening the accounts: %w", err)
				}
				charges, err := quota.New(client, quota.Options{Prefix: c.Prefix})
				if err != nil {
					return fmt.Errorf("opening the charges: %w", err)
				}
				account, tier, ok, err := directory.Resolve(ctx, args[0])
				if err != nil {
					return fmt.Errorf("looking at the account: %w", err)
				}
				if !ok {
					return fault.NoSuchAccount(args[0])
				}
				balance, err := charges.Balance(ctx, account, tier)
				if err != nil {
					return fmt.Errorf("looking at the quota: %w", err)
				}
				known, err := devices.New(client, devices.Options{Prefix: c.Prefix})
				if err != nil {
					return fmt.Errorf("opening the devices: %w", err)
				}
				registered, err := known.Count(ctx, account.Name)
				if err != nil {
					return err
				}
				calls, err := counters.New(client, c.Prefix)
				if err != nil {
					return fmt.Errorf("opening the counters: %w", err)
				}
				requests, err := api.RequestsOf(ctx, calls, account.Name, tier)
				if err != nil {
					return fmt.Errorf("looking at the requests: %w", err)
				}
				var callback *message.Callback
				if account.EventsURL != "" {
					registry, err := openCallbacks(client, c)
					if err != nil {
						return err
					}
					status, err := registry.Status(ctx, account.Name)
					if err != nil {
						return fmt.Errorf("looking at the callback: %w", err)
					}
					callback = &status
				}
				usage := submit.AccountUsageOf(account, tier, balance, registered)
				usage.Requests = requests
				return a.printWithUsage(account, balance, usage, callback)
			}))
		},
	}
}

// accountWithUsage is the answer of "worker account show --json".
type accountWithUsage struct {
	message.Account

	Usage message.AccountUsage `json:"usage"`
	// Callback is nil if the account has none.
	Callback *message.Callback `json:"callback,omitempty"`
}

func (a *commands) printWithUsage(account accounts.Account, b quota.Balance, usage message.AccountUsage, callback *message.Callback) error {
	if a.asJSON {
		return a.PrintJSON(accountWithUsage{api.AccountOf(account), usage, callback})
	}
	zone, err := account.LocationAt(b.Now)
	if err != nil {
		return fmt.Errorf("the account's time zone: %w", err)
	}
	var used strings.Builder
	used.WriteString("used:\n")
	for _, u := range []counters.Usage{b.Hour, b.Day} {
		quota := "no limit"
		if u.Counter.Limit > 0 {
			quota = fmt.Sprintf("%d left of %d", u.Remaining(), u.Counter.Limit)
		}
		fmt.Fprintf(&used, "  - %s: %d, %s, until %s\n", u.Counter.Name, u.Used, quota, cli.FormatTime(u.Until, zone))
	}
	quota := "no limit"
	if d := usage.Devices; d.Limit > 0 {
		quota = fmt.Sprintf("%d left of %d", *d.Remaining, d.Limit)
	}
	fmt.Fprintf(&used, "  - devices: %d, %s\n", usage.Devices.Used, quota)
	if requests := usage.Requests; requests != nil {
		for _, of := range []struct {
			kind string
			message.RequestUsage
		}{{"submits", requests.Submit}, {"reads", requests.Read}, {"changes", requests.Change}} {
			fmt.Fprintf(&used, "  - %s of the day: %d, %d left of %d, until %s\n",
				of.kind, of.Used, of.Remaining, of.Limit, cli.FormatTime(of.Until.Time, zone))
		}
	}
	if callback != nil {
		used.WriteString(callbackText(*callback))
	}
	return a.Print(accountText(account) + used.String())
}

func (a *commands) printAccount(account accounts.Account) error {
	if a.asJSON {
		return a.PrintJSON(api.AccountOf(account))
	}
	return a.Print(accountText(account))
}

// accountText describes an account for a person.
func accountText(account accounts.Account) string {
	var s strings.Builder
	zone := cmp.Or(account.TimeZone, "UTC")
	if !account.ZoneFrom.IsZero() {
		zone += fmt.Sprintf(" from %s, before that %s", cli.FormatTime(account.ZoneFrom, time.UTC), cmp.Or(account.FormerZone, "UTC"))
	}
	fmt.Fprintf(&s, "name: %s\ntier: %s\ncontact: %s\ntime_zone: %s\nreport_at: %s\nevents_url: %s\nstate: %s\ncreated_at: %s\n",
		account.Name, cmp.Or(account.Tier, "none"), cmp.Or(account.Contact, "none"), zone,
		cmp.Or(account.ReportAt, "never"), cmp.Or(account.EventsURL, "none"), stateOf(account), cli.FormatTime(account.CreatedAt, time.UTC))
	if len(account.Keys) == 0 {
		s.WriteString("keys: none\n")
	} else {
		s.WriteString("keys:\n")
	}
	for _, key := range account.Keys {
		scopes := make([]string, len(key.Scopes))
		for i, scope := range key.Scopes {
			scopes[i] = string(scope)
		}
		fmt.Fprintf(&s, "  - %s: %s, made %s", key.ID, strings.Join(scopes, ", "), cli.FormatTime(key.CreatedAt, time.UTC))
		if !key.ExpiresAt.IsZero() {
			fmt.Fprintf(&s, ", expires %s", cli.FormatTime(key.ExpiresAt, time.UTC))
		}
		s.WriteString("\n")
	}
	return s.String()
}

func stateOf(a accounts.Account) string {
	if a.Disabled {
		return "disabled"
	}
	return "enabled"
}

// printTable prints rows under a header, whose names are separated by tabs.
func (a *commands) printTable(header string, rows func(row func(cells ...any))) error {
	var s strings.Builder
	table := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, header)
	rows(func(cells ...any) {
		fmt.Fprintf(table, strings.TrimSuffix(strings.Repeat("%v\t", len(cells)), "\t")+"\n", cells...)
	})
	if err := table.Flush(); err != nil {
		return fmt.Errorf("laying out the list: %w", err)
	}
	return a.Print(s.String())
}
