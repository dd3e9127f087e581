package account

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
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
				return a.Print("There are no accounts: worker account create NAME makes one.\n")
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
	show := a.command("show NAME", "Show an account and its keys, without the secrets.", cli.Argument("NAME"),
		func(ctx context.Context, accounts *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			account, ok, err := accounts.Get(ctx, args[0])
			if err != nil {
				return fmt.Errorf("looking at the account: %w", err)
			}
			if !ok {
				return &fault.NoSuchError{What: "account", Name: args[0]}
			}
			return a.printAccount(account)
		})
	show.Example = "  worker account show acme"
	return show
}

func (a *commands) printAccount(account accounts.Account) error {
	if a.asJSON {
		return a.PrintJSON(api.AccountOf(account))
	}
	var s strings.Builder
	fmt.Fprintf(&s, "name: %s\ntier: %s\ncontact: %s\ntime_zone: %s\nreport_at: %s\nstate: %s\ncreated_at: %s\n",
		account.Name, cmp.Or(account.Tier, "none"), cmp.Or(account.Contact, "none"), cmp.Or(account.TimeZone, "UTC"),
		cmp.Or(account.ReportAt, "never"), stateOf(account), cli.FormatTime(account.CreatedAt, time.UTC))
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
	return a.Print(s.String())
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
