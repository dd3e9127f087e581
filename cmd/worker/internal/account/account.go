package account

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

// commands is what the subcommands of account and tier share.
type commands struct{ *operations.Group }

// Command returns the group "worker account".
func Command(p cli.Program) *cobra.Command {
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
	a := &commands{operations.NewGroup(p, group)}
	group.AddCommand(
		a.createCommand(), a.listCommand(), a.showCommand(), a.setCommand(),
		a.addKeyCommand(), a.rotateKeyCommand(), a.removeKeyCommand(),
		a.rotateSecretCommand(), a.eventsCommand(), a.sessionsCommand(), a.endSessionCommand(),
		a.switchCommand("disable", true, "Reject an account's keys; messages it has submitted are still sent."),
		a.switchCommand("enable", false, "Accept an account's keys again."),
	)
	return group
}

// command returns a subcommand that calls do with a client.
func (a *commands) command(
	use, short, example string, args cobra.PositionalArgs, do func(cmd *cobra.Command, args []string, c *client.Client) error,
) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: example, Args: args, RunE: a.Run(do)}
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
	create := a.command("create NAME", "Create an account with a key, and print the key.",
		"  worker account create acme --tier free --contact ops@acme.example --time-zone Europe/Berlin\n"+
			"  KEY=$(worker account create operator --scopes admin)\n"+
			"  KEY=$(worker account create support --scopes admin,content)",
		cli.Argument("NAME"), func(cmd *cobra.Command, args []string, c *client.Client) error {
			draft, err := k.draft()
			if err != nil {
				return err
			}
			account, err := c.CreateAccount(cmd.Context(), client.AccountDraft{
				Name: args[0], Tier: f.tier, Contact: f.contact, TimeZone: f.timeZone, ReportAt: f.reportAt,
			})
			if err != nil || noKey {
				return operations.Answer(a.Group, account, err, accountText)
			}
			key, err := c.AddAccountKey(cmd.Context(), account.Name, draft)
			if err != nil {
				_, told := fmt.Fprintf(a.Stderr, a.Names.Spell("The account %s is made, and has no key yet: worker account add-key gives it one.\n"), account.Name)
				return errors.Join(err, told)
			}
			return a.printKey(account.Name, key, "")
		})
	f.register(create.Flags())
	k.register(create.Flags())
	create.Flags().BoolVar(&noKey, "no-key", false, "create no key, and show the account")
	return create
}

func (a *commands) setCommand() *cobra.Command {
	var f accountFlags
	var eventsURL string
	set := a.command("set NAME", "Change an account as the flags say, and show it.",
		"  worker account set acme --tier business\n  worker account set acme --report-at ''\n"+
			"  worker account set acme --events https://acme.example/events",
		cli.Argument("NAME"), func(cmd *cobra.Command, args []string, c *client.Client) error {
			var change client.AccountPatch
			given := false
			for name, field := range map[string]struct {
				into  **string
				value *string
			}{
				"tier": {&change.Tier, &f.tier}, "contact": {&change.Contact, &f.contact},
				"time-zone": {&change.TimeZone, &f.timeZone}, "report-at": {&change.ReportAt, &f.reportAt},
			} {
				if cmd.Flags().Changed(name) {
					*field.into, given = field.value, true
				}
			}
			events := cmd.Flags().Changed("events")
			if !given && !events {
				return &cli.UsageError{Detail: "say what to change: --tier, --contact, --time-zone, --report-at or --events; '' takes one away"}
			}
			account, err := c.ChangeAccount(cmd.Context(), args[0], change)
			if err != nil || !events {
				return operations.Answer(a.Group, account, err, accountText)
			}
			return a.setEvents(cmd.Context(), c, account.Name, eventsURL)
		})
	f.register(set.Flags())
	set.Flags().StringVar(&eventsURL, "events", "", "`URL` that what becomes of its messages is posted to; none removes it")
	return set
}

func (a *commands) switchCommand(name string, disabled bool, short string) *cobra.Command {
	return a.command(name+" NAME", short, "  worker account "+name+" acme", cli.Argument("NAME"),
		func(cmd *cobra.Command, args []string, c *client.Client) error {
			account, err := c.ChangeAccount(cmd.Context(), args[0], client.AccountPatch{Disabled: &disabled})
			return operations.Answer(a.Group, account, err, accountText)
		})
}
