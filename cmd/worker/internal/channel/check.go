package channel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// accepted is the result of a successful check: nothing was delivered.
const accepted = "accepted"

// answer is a provider's answer to a probe or a test.
type answer struct {
	Channel      string `json:"channel"`
	Device       string `json:"device,omitempty"`
	OK           bool   `json:"ok"`
	Result       string `json:"result"`
	Reason       string `json:"reason,omitempty"`
	ProviderID   string `json:"provider_id,omitempty"`
	Detail       string `json:"detail,omitempty"`
	Milliseconds int64  `json:"milliseconds"`
}

// String describes the answer for a person.
func (a answer) String() string {
	line := a.Channel
	if a.Device != "" {
		line += " " + a.Device
	}
	line += ": " + a.Result
	if a.Reason != "" {
		line += ", " + a.Reason
	}
	if a.ProviderID != "" {
		line += ", id " + a.ProviderID
	}
	if a.Detail != "" {
		line += ": " + a.Detail
	}
	return fmt.Sprintf("%s (%d ms)\n", line, a.Milliseconds)
}

func answerOf(name string, result notifier.Result, took time.Duration) answer {
	a := answer{
		Channel: name, OK: result.Status == notifier.Delivered, Result: result.Status.String(), Reason: string(result.Reason),
		ProviderID: result.ProviderID, Milliseconds: took.Milliseconds(),
	}
	if result.Err != nil {
		a.Detail = result.Err.Error()
	}
	return a
}

func (c *commands) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the credentials of the channels to devices.",
		Long: "Check the credentials of the channels to devices: ask each provider whether it\n" +
			"accepts them. Nothing is sent to any device. For webpush only the key is checked,\n" +
			"since push services check it with a push. The exit status is 1 if a provider\n" +
			"rejects the credentials.",
		Example: "  sendlimit-worker channel check --config sendlimit.yaml\n" +
			"  sendlimit-worker channel check --fcm-credentials-file account.json --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.check(cmd)
		},
	}
}

func (c *commands) check(cmd *cobra.Command) (err error) {
	settings, err := c.Load(cmd.Flags(), channels.ValidDevices)
	if err != nil {
		return err
	}
	if !settings.HasDeviceChannel() {
		return fault.Wrong("channels", "no channel is set up: see --fcm-credentials-file, --apns-key-file"+
			" and --webpush-private-key-file")
	}
	opened, err := channels.OpenDevices(cmd.Context(), settings, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, channels.CloseAll(opened)) }()
	answers := make([]answer, len(opened))
	var all sync.WaitGroup
	for i, d := range opened {
		all.Go(func() {
			ctx, done := context.WithTimeout(cmd.Context(), within)
			defer done()
			began := time.Now()
			answers[i] = answerOf(d.Name, d.Probe(ctx), time.Since(began))
			if answers[i].OK {
				answers[i].Result = accepted
			}
		})
	}
	all.Wait()
	for _, a := range answers {
		if err := c.printAnswer(a); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(answers, func(a answer) bool { return !a.OK }) {
		return cli.StatusError(cli.StatusUnexpected)
	}
	return nil
}

func (c *commands) printAnswer(a answer) error {
	if c.asJSON {
		return c.PrintJSON(a)
	}
	return c.Print(a.String())
}
