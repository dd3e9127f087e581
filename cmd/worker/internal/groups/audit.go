package groups

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

// defaultLines is how many entries are shown by default.
const defaultLines = 100

// Audit returns "sendlimit-worker audit".
func Audit(p cli.Program) *cobra.Command {
	var r client.ListAuditEntriesQuery
	var from, until, tz string
	var lines int
	cmd := &cobra.Command{
		Use: "audit", Short: "List the changes that operators made, newest first.",
		Long: "List the changes that operators made, newest first: with a key with the scope\n" +
			"admin, on the dashboard, or by a command. For submits, moves and cancels of\n" +
			"accounts, see the history and the events of messages.",
		Example: "  sendlimit-worker audit\n" +
			"  sendlimit-worker audit --object default --action 'apply policy'\n" +
			"  sendlimit-worker audit --user alice --from \"$(date -d yesterday +%FT00:00:00Z)\" --json",
	}
	g := operations.NewView(p, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		zone, err := cli.ParseZone(tz)
		if err == nil && lines < 1 {
			err = cli.Usage(cmd, "lines", "--lines must be at least 1")
		}
		if err == nil {
			err = cli.ParseEnds(tz, time.Now(), cli.End{Field: "from", Text: from, Into: &r.From}, cli.End{Field: "until", Text: until, Into: &r.Until})
		}
		if err != nil {
			return err
		}
		return g.With(cmd, func(ctx context.Context, c *client.Client) error {
			r.Limit = min(lines, defaultLines)
			first := func(yield func(client.AuditEntry, error) bool) {
				left := lines
				for e, err := range c.ListAuditEntries(ctx, r) {
					if left--; !yield(e, err) || left == 0 {
						return
					}
				}
			}
			return operations.AnswerEach(g, first, func(e client.AuditEntry) string { return auditLine(e, zone, g.Palette()) }, "No changes match.\n")
		})
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Account, "of", "", "only by or about the account of this `name`")
	flags.StringVar(&r.User, "user", "", "only about the user with this `name`")
	flags.StringVar(&r.Action, "action", "", "only this `action`, such as 'apply policy'")
	flags.StringVar(&r.Object, "object", "", "only about the object with this `name`, such as a policy")
	flags.StringVar(&from, "from", "", "first `time`")
	flags.StringVar(&until, "until", "", "end `time`, exclusive")
	flags.StringVar(&tz, "tz", "", "IANA time `zone` of local times, for reading and showing (default UTC)")
	flags.IntVar(&lines, "lines", defaultLines, "maximum `number` of entries")
	return cmd
}

// auditLine describes an entry for a person.
func auditLine(e client.AuditEntry, zone *time.Location, palette cli.Palette) string {
	who := cmp.Or(e.By, e.Account, "without a key")
	switch {
	case e.Operator:
		who = "an operator"
	case e.Key != "":
		who += " (key " + e.Key + ")"
	}
	about := strings.TrimSpace(strings.Join([]string{e.User, e.Message, e.Object}, " "))
	outcome := palette.Yellow("running, or its end is unknown")
	switch e.Outcome {
	case "":
	case "done":
		outcome = palette.Green(e.Outcome)
	default:
		outcome = palette.Red(e.Outcome) + ": " + cmp.Or(e.Answer, e.Code)
	}
	line := []string{cli.FormatTime(e.At.Time, zone), who, palette.Bold(e.Action)}
	for _, part := range []string{strings.Join(strings.Fields(about), " "), e.Detail, outcome} {
		if part != "" {
			line = append(line, part)
		}
	}
	text := strings.Join(line, "  ") + "\n"
	if e.More > 0 {
		text += fmt.Sprintf("  and %d more refused in this minute\n", e.More)
	}
	return text
}
