package channel

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/cmd/worker/internal/channels"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// maxAddress bounds a file with an address, in bytes.
const maxAddress = 8 << 10

// test is a push to send as a test.
type test struct {
	channel string
	file    string // with the device's address; "-" for standard input
	user    string // the device's user; "" if file is given
	device  string // its id; "" for all devices of the user on the channel
	app     string
	title   string
	body    string
}

func (c *commands) sendTestCommand() *cobra.Command {
	var t test
	cmd := &cobra.Command{
		Use: "send-test CHANNEL", Short: "Send a test push to a device.",
		Long: "Send a test push to a device at once, and print the provider's answer. Rules do\n" +
			"not apply, and nothing is stored. The device belongs to a user, or its address is\n" +
			"in a file: a token, or the JSON of a browser's subscription. Addresses are secrets:\n" +
			"they do not belong on a command line, and an API needs a key with the scope\n" +
			"content to show them. The exit status is 1 if the provider rejects the push.",
		Example: "  sendlimit-worker channel send-test apns --address-file token.txt --config sendlimit.yaml\n" +
			"  sendlimit-worker channel send-test webpush --user alice --config sendlimit.yaml",
	}
	g := operations.NewView(c.Program, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		t.channel, c.asJSON = args[0], g.JSON
		return c.sendTest(cmd, g, t)
	}
	cmd.Flags().StringVar(&t.file, "address-file", "", "`file` with the device's address, or - for standard input")
	cmd.Flags().StringVar(&t.user, "user", "", "`user` whose devices get the push")
	cmd.Flags().StringVar(&t.device, "device", "", "`id` of the user's device (default: all on the channel)")
	cmd.Flags().StringVar(&t.app, "app", "", "`app` of the device in the file, for a channel with several apps")
	cmd.Flags().StringVar(&t.title, "title", "Test", "title of the push")
	cmd.Flags().StringVar(&t.body, "body", "If you see this, pushes arrive.", "body of the push")
	return cmd
}

func (c *commands) sendTest(cmd *cobra.Command, g *operations.Group, t test) (err error) {
	if (t.file == "") == (t.user == "") {
		return &cli.UsageError{Detail: "--address-file or --user is required: the device to send to"}
	}
	if t.device != "" && t.user == "" {
		return &cli.UsageError{Detail: "--device requires --user"}
	}
	settings, err := c.Load(cmd.Flags(), channels.ValidDevices)
	if err != nil {
		return err
	}
	opened, err := channels.OpenDevices(cmd.Context(), settings, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, channels.CloseAll(opened)) }()
	at := slices.IndexFunc(opened, func(d channels.Opened) bool { return d.Name == t.channel })
	if at < 0 {
		return fault.Wrong("channel", "channel %q is not set up: %s", t.channel, setUp(opened))
	}
	to, err := c.receivers(cmd, g, t)
	if err != nil {
		return err
	}
	return c.push(cmd.Context(), opened[at], t, to)
}

// setUp lists the channels that are set up.
func setUp(opened []channels.Opened) string {
	if len(opened) == 0 {
		return "no channel is set up, see --fcm-credentials-file, --apns-key-file and --webpush-private-key-file"
	}
	names := make([]string, len(opened))
	for i, d := range opened {
		names[i] = d.Name
	}
	return "set up are " + strings.Join(names, ", ")
}

// push sends the test to each device.
func (c *commands) push(ctx context.Context, channel channels.Opened, t test, to []notifier.Device) error {
	status := cli.StatusDone
	for _, device := range to {
		now := time.Now()
		key := notifier.IdempotencyKey("", "test", keyspace.NewToken())
		ctx, done := context.WithTimeout(ctx, within)
		result := channel.Notify(ctx, notifier.Notification{
			ID: "test", User: t.user, Title: t.title, Body: t.body, Device: &device, SendAt: now,
			ExpiresAt: now.Add(time.Hour), Attempt: 1, IdempotencyKey: key,
		})
		done()
		a := answerOf(t.channel, result, time.Since(now))
		if device.ID != "" {
			a.Device = device.ID
		}
		if !a.OK {
			status = cli.StatusUnexpected
		}
		if err := c.printAnswer(a); err != nil {
			return err
		}
	}
	if status != cli.StatusDone {
		return cli.StatusError(status)
	}
	return nil
}

// receivers returns the devices that get the test.
func (c *commands) receivers(cmd *cobra.Command, g *operations.Group, t test) ([]notifier.Device, error) {
	if t.file != "" {
		address, err := c.readAddress(t.file)
		if err != nil {
			return nil, err
		}
		return []notifier.Device{{Channel: t.channel, App: t.app, Address: address}}, nil
	}
	var to []notifier.Device
	err := g.With(cmd, func(ctx context.Context, api *client.Client) error {
		all, err := api.ListDevices(ctx, t.user)
		for _, d := range all.Devices {
			if d.Channel != t.channel || t.device != "" && d.ID != t.device {
				continue
			}
			if d.Address == message.MaskAddress(d.Address) {
				return fault.Wrong("api_key", "the API shows addresses of devices only for a key with the scope content: use such a key, or --address-file")
			}
			to = append(to, notifier.Device{
				ID: d.ID, Channel: d.Channel, App: d.App, Address: d.Address, Locale: d.Locale, RegisteredAt: d.RegisteredAt.Time,
			})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(to) == 0 {
		return nil, fault.Wrong("user", "%s has no such device on channel %s: see sendlimit device list --user %s", t.user, t.channel, t.user)
	}
	return to, nil
}

// readAddress reads the address of a device. Errors do not show it.
func (c *commands) readAddress(name string) (string, error) {
	in := c.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", fault.Wrong("address-file", "can't read the device's address: %v", err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxAddress+1))
	if err != nil {
		return "", fault.Wrong("address-file", "can't read the device's address: %v", err)
	}
	address := strings.TrimSpace(string(text))
	if address == "" || len(text) > maxAddress {
		return "", fault.Wrong("address-file", "%s is not a device's address: give a token, or the JSON of a browser's subscription", name)
	}
	return address, nil
}
