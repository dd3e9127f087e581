package account

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

func (a *commands) sessionsCommand() *cobra.Command {
	return a.command("sessions", "List who is logged in to the dashboard.", "  worker account sessions --json", cli.NoArguments,
		func(cmd *cobra.Command, _ []string, c *client.Client) error {
			all, err := c.ListSessions(cmd.Context())
			if err != nil {
				return err
			}
			return operations.AnswerTable(a.Group, operations.Each(all.Sessions), "ID\tACCOUNT\tKEY\tADDRESS\tBEGAN\tENDS", func(s client.Session) string {
				return strings.Join([]string{s.ID, s.Account, s.Key, s.Address, s.Began.Format(time.RFC3339), s.Ends.Format(time.RFC3339)}, "\t")
			}, "Nobody is logged in to the dashboard.\n")
		})
}

func (a *commands) endSessionCommand() *cobra.Command {
	return a.command("end-session ID", "End a session of the dashboard.", "  worker account end-session 3fa91c02b7d86e54", cli.Argument("ID"),
		func(cmd *cobra.Command, args []string, c *client.Client) error {
			ended, err := c.EndSession(cmd.Context(), args[0])
			return operations.Answer(a.Group, ended, err, func(client.SessionEnd) string {
				return "The session has ended. Within a second every worker knows.\n"
			})
		})
}
