package auditlog

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
)

// defaultLines is how many entries are shown unless a flag says so.
const defaultLines = 100

// Command returns "worker audit".
func Command(p cli.Program) *cobra.Command {
	var r client.ListAuditEntriesQuery
	var from, until, tz string
	var lines int
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "List the changes that operators made, the newest first.",
		Long: "List the changes that operators made, the newest first: by a key with the scope\n" +
			"admin, on the dashboard, or by a command. What accounts submit, move and cancel has\n" +
			"its history and its events instead.",
		Example: "  worker audit\n" +
			"  worker audit --object default --action 'apply policy'\n" +
			"  worker audit --user alice --from \"$(date -d yesterday +%FT00:00:00Z)\" --json",
		Args: cli.NoArguments,
	}
	g := operations.NewView(p, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		zone, err := cli.ParseZone(tz)
		if err == nil && lines < 1 {
			err = cli.Usage(cmd, "lines", "--lines has to be at least 1")
		}
		for _, end := range []struct {
			field, text string
			into        *time.Time
		}{{"from", from, &r.From}, {"until", until, &r.Until}} {
			if err == nil && end.text != "" {
				var at cli.When
				at, err = cli.ParseTime(end.field, end.text, tz, time.Now())
				if *end.into = at.At; at.Now {
					*end.into = time.Now()
				}
			}
		}
		if err != nil {
			return g.Report(g.JSON, err)
		}
		return g.Run(func(cmd *cobra.Command, _ []string, c *client.Client) error {
			r.Limit = min(lines, defaultLines)
			first := func(yield func(client.AuditEntry, error) bool) {
				left := lines
				for e, err := range c.ListAuditEntries(cmd.Context(), r) {
					if left--; !yield(e, err) || left == 0 {
						return
					}
				}
			}
			return operations.AnswerEach(g, first, func(e client.AuditEntry) string { return describe(e, zone, g.Palette()) }, "No change is like this.\n")
		})(cmd, args)
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Account, "of", "", "only those by the account of this `name`, and with what is its")
	flags.StringVar(&r.User, "user", "", "only those about the user with this `name`")
	flags.StringVar(&r.Action, "action", "", "only this `action`, such as 'apply policy'")
	flags.StringVar(&r.Object, "object", "", "only those about what has this `name`, such as a policy")
	flags.StringVar(&from, "from", "", "first `time`")
	flags.StringVar(&until, "until", "", "`time` to stop before")
	flags.StringVar(&tz, "tz", "", "IANA time `zone` of local times, and of those shown (default UTC)")
	flags.IntVar(&lines, "lines", defaultLines, "most `entries` to show")
	return cmd
}

// describe returns an entry for a person.
func describe(e client.AuditEntry, zone *time.Location, palette cli.Palette) string {
	who := cmp.Or(e.Account, e.By, "without a key")
	switch {
	case e.Operator:
		who = "an operator"
	case e.Key != "":
		who += " (key " + e.Key + ")"
	}
	about := strings.TrimSpace(strings.Join([]string{e.User, e.Message, e.Object}, " "))
	outcome := palette.Yellow("under way, or its end is not known")
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
