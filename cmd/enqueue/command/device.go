package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/picture"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func (p *program) deviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "device", Short: "Register, list, remove or import the devices of users",
		Long: `Register, list, remove or import the devices of users: apps on phones, and
browsers. A device registered with --account gets only messages of that account.
A device without an account gets messages of all accounts.`,
		Example: `  sendlimit device add --user alice --channel fcm --token - < token.txt
  sendlimit device list --user alice
  sendlimit device import devices.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.deviceAdd(), p.deviceList(), p.deviceRemove(), p.deviceImport())
	return cmd
}

func (p *program) deviceAdd() *cobra.Command {
	var user, subscription string
	var draft client.DeviceDraft
	cmd := &cobra.Command{
		Use: "add", Short: "Register a device of a user",
		Long: `Register a device of a user. It replaces a device with the same id or the same
address, so registering it again is safe. An address moves from another user: a
phone has one user at a time (see shared_devices). An account registers at most
100 devices of a user, and at most as many of all users as its tier allows.

Other users of this machine can see command lines: pass the token on standard
input, with "--token -".`,
		Example: `  sendlimit device add --user alice --channel fcm --token - --locale de < token.txt
  sendlimit device add --user alice --channel webpush --subscription subscription.json --id laptop`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.readAddress(&draft, subscription); err != nil {
				return err
			}
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				change, err := c.AddDevice(ctx, user, draft)
				return printAnswer(p, change, err, func(style picture.Style, change client.DeviceChange) error {
					if err := p.printDevice(style, change.Outcome, change.Device.ID, user); err != nil || change.MovedFrom == 0 {
						return err
					}
					return p.printf("taken from %s\n", message.Count(change.MovedFrom, "other user"))
				})
			})
		},
	}
	userFlag(cmd, &user)
	flags := cmd.Flags()
	flags.StringVar(&draft.Channel, "channel", "", "`channel`: fcm, apns or webpush")
	needs(cmd, "channel")
	cli.Words(flags, "channel", "fcm", "apns", "webpush")
	flags.StringVar(&draft.Token, "token", "", "`token` of fcm or apns; - reads it from standard input")
	flags.StringVar(&subscription, "subscription", "", "`file` with the browser's subscription as JSON, for webpush; - is standard input")
	flags.StringVar(&draft.ID, "id", "", "`id` of the device (default: derived from channel and address)")
	flags.StringVar(&draft.App, "app", "", "`name` of the app")
	flags.StringVar(&draft.Locale, "locale", "", "`language` of the device, such as de or pt-BR")
	return cmd
}

// readAddress reads the address that the flags put on standard input or in a file.
func (p *program) readAddress(draft *client.DeviceDraft, subscription string) error {
	switch {
	case draft.Token == standard && subscription == standard:
		return fault.Wrong("token", "--token and --subscription can't both be standard input")
	case draft.Token == standard:
		text, err := readShort(p.Stdin)
		if err != nil {
			return badFile("token", "standard input", err)
		}
		draft.Token = strings.TrimSpace(text)
	}
	if subscription == "" {
		return nil
	}
	from := p.Stdin
	if subscription != standard {
		file, err := os.Open(subscription)
		if err != nil {
			return badFile("subscription", subscription, err)
		}
		defer file.Close()
		from = file
	}
	text, err := readShort(from)
	if err != nil {
		return badFile("subscription", subscription, err)
	}
	if json.Unmarshal([]byte(text), &draft.Subscription) != nil {
		return fault.Wrong("subscription", "%s is not a JSON object", subscription)
	}
	return nil
}

// readShort reads a text that may be an address. It stops when it is too long for one.
func readShort(from io.Reader) (string, error) {
	const most = 16 << 10 // an address has at most 4 KiB, and JSON may have spaces
	text, err := io.ReadAll(io.LimitReader(from, most))
	return string(text), err
}

// printDevice prints what was done with a device.
func (p *program) printDevice(style picture.Style, done, id, user string) error {
	return p.printf("%s device %s of %s\n", style.Palette.Green(done+":"), id, cli.OneLine(user, contentWidth))
}

func (p *program) deviceList() *cobra.Command {
	var user string
	var addresses bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the devices of a user",
		Long: `List the devices of a user, oldest first. With --account
only those that the account registered. Addresses are masked; an API shows them
only for a key with the scope content.`,
		Example: `  sendlimit device list --user alice
  sendlimit device list --user alice --json --addresses`,
		RunE: p.Run(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.ListDevices(ctx, user)
			if !addresses {
				for i, d := range list.Devices {
					list.Devices[i].Address = message.MaskAddress(d.Address)
				}
			}
			return printAnswer(p, list, err, p.printDevices)
		}),
	}
	userFlag(cmd, &user)
	cmd.Flags().BoolVar(&addresses, "addresses", false, "show tokens and subscriptions, which are secrets, instead of masking them")
	p.timeZoneFlag(cmd)
	return cmd
}

// printDevices prints devices in columns.
func (p *program) printDevices(style picture.Style, list client.Devices) error {
	if len(list.Devices) == 0 {
		return p.printf("%s has no devices\n", cli.OneLine(list.User, contentWidth))
	}
	idWidth := len("id")
	for _, d := range list.Devices {
		idWidth = max(idWidth, len(d.ID))
	}
	row := func(id, channel, registered, success, rest string) string {
		return strings.TrimRight(fmt.Sprintf("%-*s  %-7s  %-*s  %-*s  %s", idWidth, id, channel, cli.TimeWidth, registered, cli.TimeWidth, success, rest), " ") + "\n"
	}
	text := style.Palette.Dim(row("id", "channel", "registered", "last success", "address"))
	for _, d := range list.Devices {
		text += row(d.ID, d.Channel, style.Time(d.RegisteredAt.Time), successOf(style, d), deviceDetails(d))
	}
	return p.Print(text)
}

func successOf(style picture.Style, d message.Device) string {
	if d.LastSuccess.IsZero() {
		return "never"
	}
	return style.Time(d.LastSuccess.Time)
}

// deviceDetails returns the address of a device, and its other details.
func deviceDetails(d message.Device) string {
	details := []string{d.Address}
	for _, part := range []struct{ name, value string }{{"app", d.App}, {"locale", d.Locale}, {"account", d.Account}} {
		if part.value != "" {
			details = append(details, part.name+" "+part.value)
		}
	}
	if d.Suspect {
		details = append(details, "suspect")
	}
	return strings.Join(details, "  ")
}

func (p *program) deviceRemove() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "remove DEVICE", Short: "Remove a device of a user",
		Long: `Remove a device of a user, by its id. With --account only one that the account
registered.`,
		Example: `  sendlimit device remove --user alice laptop`,
		RunE: p.Run(func(ctx context.Context, c *client.Client, args []string) error {
			removal, err := c.RemoveDevice(ctx, user, args[0])
			return printAnswer(p, removal, err, func(style picture.Style, removal client.DeviceRemoval) error {
				return p.printDevice(style, removal.Outcome, removal.Device, user)
			})
		}),
	}
	userFlag(cmd, &user)
	return cmd
}
