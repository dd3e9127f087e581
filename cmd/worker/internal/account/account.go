package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/tasks/callbacks"
	"github.com/sendlimit/sendlimiter/tasks/contact"
)

// commands is what the subcommands of account and tier share.
type commands struct {
	cli.Program

	asJSON   bool
	charges  *quota.Charges
	contacts contact.Rule

	callbacks *callbacks.Registry
	sessions  *session.Sessions
}

// Command returns the group "worker account".
func Command(p cli.Program) *cobra.Command {
	a := &commands{Program: p}
	group := &cobra.Command{
		Use:   "account",
		Short: "Create, show and change accounts and their API keys.",
		Long: "Create, show and change accounts and their API keys. An account is who submits\n" +
			"messages.\n\n" +
			"A key is printed once, when it is created: only its SHA-256 is stored. A change\n" +
			"takes effect within a second in every process.",
		Example: "  worker tier set free --requests-per-minute 60 --messages-per-day 500\n" +
			"  worker account create acme --tier free --contact ops@acme.example\n" +
			"  worker account rotate-key acme --overlap 1h",
	}
	group.PersistentFlags().AddFlagSet(cli.StoreFlags())
	group.PersistentFlags().BoolVar(&a.asJSON, "json", false, "answer with one line of JSON")
	group.AddCommand(
		a.createCommand(), a.listCommand(), a.showCommand(), a.setCommand(),
		a.addKeyCommand(), a.rotateKeyCommand(), a.removeKeyCommand(),
		a.rotateSecretCommand(), a.eventsCommand(), a.sessionsCommand(), a.endSessionCommand(),
		a.switchCommand("disable", true, "Reject an account's keys; messages it has submitted are still sent."),
		a.switchCommand("enable", false, "Accept an account's keys again."),
	)
	return group
}

// command returns a subcommand that calls do with the accounts of the store.
func (a *commands) command(
	use, short string, args cobra.PositionalArgs,
	do func(ctx context.Context, accounts *accounts.Accounts, flags *pflag.FlagSet, args []string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return a.Report(a.asJSON, store.With(ctx, a.Program, cmd.Flags(), func(client redis.UniversalClient, c config.Config) error {
				accounts, err := accounts.New(client, c.Prefix)
				if err != nil {
					return fmt.Errorf("opening the accounts: %w", err)
				}
				if a.charges, err = quota.New(client, quota.Options{Prefix: c.Prefix}); err != nil {
					return fmt.Errorf("opening the charges: %w", err)
				}
				a.contacts = contact.Rule{AllowInternal: c.AllowInternalWebhooks}
				if a.callbacks, err = openCallbacks(client, c); err != nil {
					return err
				}
				if a.sessions, err = session.New(client, c.Prefix, accounts); err != nil {
					return fmt.Errorf("opening the sessions: %w", err)
				}
				return do(ctx, accounts, cmd.Flags(), args)
			}))
		},
	}
}

// accountFlags are the flags with the settings of an account.
type accountFlags struct{ tier, contact, timeZone, reportAt string }

func (f *accountFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.tier, "tier", "", "`name` of its tier; without a tier nothing is limited")
	flags.StringVar(&f.contact, "contact", "", "`address` for quota alerts: e-mail or https: URL")
	flags.StringVar(&f.timeZone, "time-zone", "", "IANA `zone` of the hours and days of its quota (default UTC); a change counts from the end of the present day")
	flags.StringVar(&f.reportAt, "report-at", "", "local `time` of a daily report, such as 08:00; by default there is none")
}

func (a *commands) createCommand() *cobra.Command {
	var f accountFlags
	var k keyFlags
	var noKey bool
	create := a.command("create NAME", "Create an account with a key, and print the key.", cli.Argument("NAME"),
		func(ctx context.Context, directory *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			scopes, expires, err := k.parse()
			if err != nil {
				return err
			}
			if err := a.contacts.Check("contact", f.contact); err != nil {
				return fmt.Errorf("making the account: %w", err)
			}
			account, err := directory.Create(ctx, accounts.Account{
				Name: args[0], Tier: f.tier, Contact: f.contact, TimeZone: f.timeZone, ReportAt: f.reportAt,
			})
			if err != nil {
				return fmt.Errorf("making the account: %w", err)
			}
			if noKey {
				return a.printAccount(account)
			}
			secret, key, err := directory.AddKey(ctx, account.Name, scopes, expires)
			if err != nil {
				return fmt.Errorf("the account is made, and has no key yet, worker account add-key gives it one: %w", err)
			}
			return a.printKey(account.Name, secret, key, "")
		})
	f.register(create.Flags())
	k.register(create.Flags())
	create.Flags().BoolVar(&noKey, "no-key", false, "create no key, and show the account")
	create.Example = "  worker account create acme --tier free --contact ops@acme.example --time-zone Europe/Berlin\n" +
		"  KEY=$(worker account create operator --scopes admin)\n" +
		"  KEY=$(worker account create support --scopes admin,content)"
	return create
}

func (a *commands) setCommand() *cobra.Command {
	var f accountFlags
	var eventsURL string
	set := a.command("set NAME", "Change an account as the flags say, and show it.", cli.Argument("NAME"),
		func(ctx context.Context, directory *accounts.Accounts, flags *pflag.FlagSet, args []string) error {
			var change accounts.Change
			given := false
			for name, field := range map[string]struct {
				into  **string
				value *string
			}{
				"tier": {&change.Tier, &f.tier}, "contact": {&change.Contact, &f.contact},
				"time-zone": {&change.TimeZone, &f.timeZone}, "report-at": {&change.ReportAt, &f.reportAt},
			} {
				if flags.Changed(name) {
					*field.into, given = field.value, true
				}
			}
			if !given && !flags.Changed("events") {
				return &cli.UsageError{Detail: "say what to change: --tier, --contact, --time-zone, --report-at or --events; '' takes one away"}
			}
			if err := a.contacts.Check("contact", f.contact); err != nil {
				return fmt.Errorf("changing the account: %w", err)
			}
			account, err := a.charges.SetAccount(ctx, directory, args[0], change)
			if err != nil {
				return fmt.Errorf("changing the account: %w", err)
			}
			if !flags.Changed("events") {
				return a.printAccount(account)
			}
			secret, err := a.setEvents(ctx, account.Name, eventsURL)
			if err != nil {
				return err
			}
			if account, _, err = directory.Get(ctx, account.Name); err != nil {
				return fmt.Errorf("looking at the account: %w", err)
			}
			return errors.Join(a.printAccount(account), a.tellSecret(account.Name, secret))
		})
	f.register(set.Flags())
	set.Flags().StringVar(&eventsURL, "events", "", "`URL` that what becomes of its messages is posted to; none removes it")
	set.Example = "  worker account set acme --tier business\n  worker account set acme --report-at ''\n" +
		"  worker account set acme --events https://acme.example/events"
	return set
}

func (a *commands) switchCommand(name string, disabled bool, short string) *cobra.Command {
	able := a.command(name+" NAME", short, cli.Argument("NAME"),
		func(ctx context.Context, directory *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			account, err := directory.Set(ctx, args[0], accounts.Change{Disabled: &disabled})
			if err != nil {
				return fmt.Errorf("changing the account: %w", err)
			}
			return a.printAccount(account)
		})
	able.Example = "  worker account " + name + " acme"
	return able
}
