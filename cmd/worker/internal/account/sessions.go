package account

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// listedSession is a session as --json prints it.
type listedSession struct {
	ID      string    `json:"id"`
	Account string    `json:"account"`
	Key     string    `json:"key"`
	Address string    `json:"address,omitempty"`
	Began   time.Time `json:"began"`
	Ends    time.Time `json:"ends"`
}

func (a *commands) sessionsCommand() *cobra.Command {
	list := a.command("sessions", "List who is logged in to the dashboard.", cli.NoArguments,
		func(ctx context.Context, _ *accounts.Accounts, _ *pflag.FlagSet, _ []string) error {
			all, err := a.sessions.List(ctx, time.Now())
			if err != nil {
				return fmt.Errorf("listing the sessions: %w", err)
			}
			if a.asJSON {
				listed := make([]listedSession, len(all))
				for i, s := range all {
					listed[i] = listedSession{s.ID, s.Account, s.Key, s.Address, s.Began, s.Ends}
				}
				return a.PrintJSON(map[string]any{"sessions": listed})
			}
			if len(all) == 0 {
				return a.PrintHint("Nobody is logged in to the dashboard.\n")
			}
			return a.printTable("ID\tACCOUNT\tKEY\tADDRESS\tBEGAN\tENDS", func(row func(...any)) {
				for _, s := range all {
					row(s.ID, s.Account, s.Key, s.Address, s.Began.Format(time.RFC3339), s.Ends.Format(time.RFC3339))
				}
			})
		})
	list.Example = "  worker account sessions --json"
	return list
}

func (a *commands) endSessionCommand() *cobra.Command {
	end := a.command("end-session ID", "End a session of the dashboard.", cli.Argument("ID"),
		func(ctx context.Context, _ *accounts.Accounts, _ *pflag.FlagSet, args []string) error {
			ended, err := a.sessions.Revoke(ctx, time.Now(), func(s session.Session) bool { return s.ID == args[0] })
			if err != nil {
				return fmt.Errorf("ending the session: %w", err)
			}
			if ended == 0 {
				return &fault.NoSuchError{What: "session", Name: args[0]}
			}
			return a.PrintHint("The session has ended. Within a second every worker knows.\n")
		})
	end.Example = "  worker account end-session 3fa91c02b7d86e54"
	return end
}
