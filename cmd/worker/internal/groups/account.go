package groups

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

// account is shared by the subcommands of account.
type account struct{ *operations.Group }

// Account returns the group "sendlimit-worker account".
func Account(p cli.Program) *cobra.Command {
	group := &cobra.Command{
		Use: "account", Short: "Create, show and change accounts and their API keys.",
		Long: "Create, show and change accounts and their API keys. An account submits messages\n" +
			"messages.\n\n" +
			"A key is printed once, when it is created: only its SHA-256 is stored. A change\n" +
			"takes effect within a second in every process.",
		Example: "  sendlimit-worker tier set free --requests-per-minute 60 --messages-per-day 500\n" +
			"  sendlimit-worker account create acme --tier free --contact ops@acme.example\n" +
			"  sendlimit-worker account rotate-key acme --overlap 1h",
	}
	a := account{operations.NewGroup(p, group)}
	group.AddCommand(
		a.createCommand(), a.setCommand(), a.addKeyCommand(), a.rotateKeyCommand(), a.rotateSecretCommand(), a.eventsCommand(),
		a.switchCommand("disable", true, "Reject an account's keys; messages it has submitted are still sent."),
		a.switchCommand("enable", false, "Accept an account's keys again."),
		&cobra.Command{
			Use: "list", Short: "List the accounts.", Example: "  sendlimit-worker account list --json",
			RunE: operations.List(a.Group, (*client.Client).ListAccounts, client.ListAccountsQuery{Limit: pageSize}, operations.Table[client.Account]{
				Header: "NAME\tTIER\tKEYS\tCONTACT\tSTATE", Row: func(account client.Account) []string {
					return []string{account.Name, cmp.Or(account.Tier, "-"), strconv.Itoa(len(account.Keys)), cmp.Or(account.Contact, "-"), stateOf(account)}
				}, None: "There are no accounts: see sendlimit-worker account create.\n",
			}),
		},
		&cobra.Command{
			Use: "show NAME", Short: "Show an account, its keys without the secrets, and how much of its quota is used.",
			Example: "  sendlimit-worker account show acme", RunE: operations.One(a.Group, (*client.Client).Account, usageText),
		},
		&cobra.Command{
			Use: "remove-key NAME KEY-ID", Short: "Remove a key, and show the account.", Example: "  sendlimit-worker account remove-key acme Zx3kQ9aB",
			Args: accountAndKey(true), RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
				changed, err := c.RemoveAccountKey(ctx, args[0], args[1])
				return a.answer(changed, err)
			}),
		},
		&cobra.Command{
			Use: "sessions", Short: "List the sessions of the dashboard.", Example: "  sendlimit-worker account sessions --json",
			RunE: a.Run(func(ctx context.Context, c *client.Client, _ []string) error {
				all, err := c.ListSessions(ctx)
				if err != nil {
					return err
				}
				return operations.Table[client.Session]{Header: "ID\tACCOUNT\tKEY\tADDRESS\tBEGAN\tENDS", Row: func(s client.Session) []string {
					return []string{s.ID, s.Account, s.Key, s.Address, s.Began.Format(time.RFC3339), s.Ends.Format(time.RFC3339)}
				}, None: "Nobody is logged in to the dashboard.\n"}.Answer(a.Group, operations.Each(all.Sessions))
			}),
		},
		&cobra.Command{
			Use: "end-session ID", Short: "End a session of the dashboard.", Example: "  sendlimit-worker account end-session 3fa91c02b7d86e54",
			RunE: operations.One(a.Group, (*client.Client).EndSession, func(client.SessionEnd) string {
				return "The session has ended; every worker follows within a second.\n"
			}),
		},
	)
	return group
}

func (a account) answer(answer client.Account, err error) error {
	return operations.Answer(a.Group, answer, err, accountText)
}

// accountFlags adds the flags with the settings of an account.
func accountFlags(flags *pflag.FlagSet) {
	flags.String("tier", "", "`name` of its tier (default: no limits)")
	flags.String("contact", "", "`address` for quota alerts: e-mail or https: URL")
	flags.String("time-zone", "", "IANA `zone` of the hours and days of its quota (default UTC); a change takes effect at the end of the present day")
	flags.String("report-at", "", "local `time` of a daily report, such as 08:00 (default: no report)")
}

func (a account) createCommand() *cobra.Command {
	var k keyFlags
	var noKey bool
	create := &cobra.Command{
		Use: "create NAME", Short: "Create an account with a key, and print the key.",
		Example: "  sendlimit-worker account create acme --tier free --contact ops@acme.example --time-zone Europe/Berlin\n" +
			"  KEY=$(sendlimit-worker account create operator --scopes admin)\n" +
			"  KEY=$(sendlimit-worker account create support --scopes admin,content)",
	}
	create.RunE = a.Run(func(ctx context.Context, c *client.Client, args []string) error {
		key, err := k.draft()
		if err != nil {
			return err
		}
		draft := client.AccountDraft{Name: args[0]}
		if _, err := operations.Fill(create.Flags(), &draft); err != nil {
			return err
		}
		made, err := c.CreateAccount(ctx, draft)
		if err != nil || noKey {
			return a.answer(made, err)
		}
		added, err := c.AddAccountKey(ctx, made.Name, key)
		if err != nil {
			return errors.Join(err, a.Tell("Created account %s without a key: see sendlimit-worker account add-key.\n", made.Name))
		}
		return a.printKey(made.Name, added, "")
	})
	accountFlags(create.Flags())
	k.register(create.Flags())
	create.Flags().BoolVar(&noKey, "no-key", false, "create no key, and show the account")
	return create
}

func (a account) setCommand() *cobra.Command {
	set := &cobra.Command{
		Use: "set NAME", Short: "Change an account, and show it.",
		Example: "  sendlimit-worker account set acme --tier business\n  sendlimit-worker account set acme --report-at ''\n" +
			"  sendlimit-worker account set acme --events https://acme.example/events",
	}
	accountFlags(set.Flags())
	eventsURL := set.Flags().String("events", "", "`URL` that receives the events of its messages; none removes it")
	set.RunE = a.Run(func(ctx context.Context, c *client.Client, args []string) error {
		var change client.AccountPatch
		events := set.Flags().Changed("events")
		given, err := operations.Fill(set.Flags(), &change)
		if err != nil || !given && !events {
			return cmp.Or[error](err, &cli.UsageError{Detail: "a flag is required: --tier, --contact, --time-zone, --report-at or --events; '' removes the value"})
		}
		if given {
			changed, err := c.ChangeAccount(ctx, args[0], change)
			if err != nil || !events {
				return a.answer(changed, err)
			}
		}
		return a.setEvents(ctx, c, args[0], *eventsURL)
	})
	return set
}

func (a account) switchCommand(name string, disabled bool, short string) *cobra.Command {
	return &cobra.Command{
		Use: name + " NAME", Short: short, Example: "  sendlimit-worker account " + name + " acme",
		RunE: a.Run(func(ctx context.Context, c *client.Client, args []string) error {
			changed, err := c.ChangeAccount(ctx, args[0], client.AccountPatch{Disabled: &disabled})
			return a.answer(changed, err)
		}),
	}
}
