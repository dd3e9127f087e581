package channel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// within bounds the request to one channel.
const within = 15 * time.Second

// commands is shared by the subcommands of channel.
type commands struct {
	cli.Program

	asJSON bool
}

// Command returns the group "sendlimit-worker channel".
func Command(p cli.Program) *cobra.Command {
	c := &commands{Program: p}
	group := &cobra.Command{
		Use: "channel", Short: "Show, check, try or resume the channels that deliver.",
		Long: "Show, check, try or resume the channels that deliver: fcm, apns and webpush to the\n" +
			"devices of users, and the target of --push-url. Give check and send-test the\n" +
			"settings of the workers.\n\n" +
			"A channel whose provider refuses the credentials is stopped for all workers. Its\n" +
			"messages wait, and no attempt counts. Workers probe it once a minute, and resume\n" +
			"it when a probe succeeds. A channel is also stopped when its provider reports too\n" +
			"many devices as gone at once, as with a wrong project or key. Then no device is\n" +
			"removed until you run resume.",
		Example: "  sendlimit-worker channel list --config sendlimit.yaml\n" +
			"  sendlimit-worker channel check --config sendlimit.yaml\n" +
			"  sendlimit-worker channel send-test apns --address-file token.txt --config sendlimit.yaml\n" +
			"  sendlimit-worker channel resume apns --config sendlimit.yaml",
	}
	config.RegisterFlags(group.PersistentFlags(), config.Worker)
	group.PersistentFlags().BoolVar(&c.asJSON, "json", false, "print JSON, one object a line")
	group.AddCommand(c.listCommand(), c.checkCommand(), c.sendTestCommand(), c.resumeCommand(), c.keysCommand())
	return group
}

func (c *commands) listCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the channels and their states.",
		Long: "List the channels that have delivered something or are stopped, with their states,\n" +
			"since when and why.",
		Example: "  sendlimit-worker channel list --config sendlimit.yaml\n  sendlimit-worker channel list --json",
	}
	g := operations.NewView(c.Program, list)
	list.RunE = g.Run(func(ctx context.Context, api *client.Client, _ []string) error {
		all, err := api.ListChannels(ctx)
		if err != nil {
			return err
		}
		return operations.AnswerEach(g, operations.Each(all.Channels), describe, "No channel has delivered anything yet, and none is stopped: see sendlimit-worker channel check.\n")
	})
	return list
}

// describe describes a channel for a person.
func describe(c client.Channel) string {
	const below = "\n         "
	var s strings.Builder
	fmt.Fprintf(&s, "%-8s %s", c.Channel, c.State)
	if c.State == message.ChannelStopped {
		fmt.Fprintf(&s, " since %s: %s", cli.FormatTime(c.Since.Time, time.UTC), c.Reason)
		if c.Detail != "" {
			s.WriteString(", " + c.Detail)
		}
		switch {
		case c.Reason == message.ChannelBrake:
			s.WriteString(below + "its provider reports all devices as gone: check project, key and environment, then sendlimit-worker channel resume " + c.Channel)
		case !c.ProbeAt.IsZero():
			s.WriteString(below + "next probe at " + cli.FormatTime(c.ProbeAt.Time, time.UTC))
		}
	} else if c.DeliveredAt.IsZero() {
		s.WriteString(", has not delivered yet")
	}
	if l := c.Learned; l != nil {
		s.WriteString(below + l.String())
	}
	if !c.PausedUntil.IsZero() {
		s.WriteString(below + "paused by its provider until " + cli.FormatTime(c.PausedUntil.Time, time.UTC))
	}
	if w := c.Wave; w != nil {
		fmt.Fprintf(&s, below+"its provider reports many devices as gone, which are kept as suspects: %d of the last %d answers,"+
			below+"by account %s, by campaign %s", w.Gone, w.Of, counts(w.Accounts), counts(w.Campaigns))
	}
	s.WriteByte('\n')
	return s.String()
}

// counts lists names by their counts, the largest first.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", cmp.Or(name, "(none)"), of[name])
	}
	return strings.Join(names, ", ")
}

func (c *commands) resumeCommand() *cobra.Command {
	resume := &cobra.Command{
		Use: "resume CHANNEL", Short: "Resume a stopped channel.",
		Long: "Resume a stopped channel: all workers deliver through it again within two\n" +
			"seconds. Workers also resume it when a probe succeeds. If all devices were\n" +
			"reported as gone, check project, key and environment first: run sendlimit-worker\n" +
			"channel check and send-test.",
		Example: "  sendlimit-worker channel resume apns --config sendlimit.yaml",
	}
	g := operations.NewGroup(c.Program, resume)
	resume.RunE = g.Run(func(ctx context.Context, api *client.Client, args []string) error {
		answer, err := api.ResumeChannel(ctx, args[0])
		if err == nil && answer.Outcome == message.ChannelRunning {
			err = fault.Wrong("channel", "%q is not stopped: see sendlimit-worker channel list", args[0])
		}
		return operations.Answer(g, answer, err, func(client.ChannelResume) string {
			return args[0] + " is resumed: its messages go out as the rules allow\n"
		})
	})
	return resume
}
