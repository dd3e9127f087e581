package command

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
)

// pushFlags has the flags for the content of a push.
type pushFlags struct {
	said            message.PushContent // its texts
	badge, channels string
	to              message.Target
}

func (f *pushFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.said.Image, "image", "", "https `URL` of an image to show")
	flags.StringVar(&f.said.ClickURL, "click-url", "", "`URL` that a click opens, such as https://example.com/ or myapp://orders/17")
	flags.StringVar(&f.badge, "badge", "", "`number` at the app's icon (default: unchanged)")
	flags.StringVar(&f.said.Sound, "sound", "", "`name` of a sound of the app")
	flags.StringVar(&f.said.Priority, "priority", "", "`priority`: high, which may wake the device, or normal"+
		" (default: the channel's own)")
	flags.StringVar(&f.said.CollapseKey, "collapse-key", "", "`key`: the message replaces an earlier one with this key on the device")
	flags.StringVar(&f.channels, "channels", "", "`JSON` object with options of fcm, apns or webpush, as their providers define them")
	flags.StringVar(&f.to.Channel, "to-channel", "", "only to devices of the `channel`: "+strings.Join(message.TargetChannels(), ", ")+
		" (default: to all devices)")
	flags.StringVar(&f.to.App, "to-app", "", "only to devices with the `app`")
	flags.StringVar(&f.to.Device, "to-device", "", "only to the device with the `id`")
	cli.Words(flags, "priority", message.PriorityHigh, message.PriorityNormal)
	cli.Words(flags, "to-channel", message.TargetChannels()...)
}

// pushFlagNames returns the names of the flags.
func pushFlagNames() []string {
	return []string{
		"image", "click-url", "badge", "sound", "priority", "collapse-key", "channels", "to-channel", "to-app", "to-device",
	}
}

// content returns the content of the flags. The error is a *fault.InvalidError.
func (f *pushFlags) content() (message.PushContent, error) {
	said := f.said
	var err error
	if f.badge != "" {
		if said.Badge, err = message.ParseBadge(f.badge); err != nil {
			return said, err
		}
	}
	if f.channels != "" {
		if said.Channels, err = message.ParseChannels(f.channels); err != nil {
			return said, err
		}
	}
	if f.to != (message.Target{}) {
		said.To = &f.to
	}
	return said, nil
}

// addTo adds the content of the flags to a message. The error is a *fault.InvalidError.
func (f *pushFlags) addTo(m *client.Message) error {
	said, err := f.content()
	m.Image, m.ClickURL, m.Badge, m.Sound, m.Priority, m.CollapseKey = said.Image, said.ClickURL, said.Badge, said.Sound, said.Priority, said.CollapseKey
	m.Channels, m.To = said.Channels, said.To
	return err
}

// edit adds the changes of the flags, except texts. The error is a *fault.InvalidError.
func (f *pushFlags) edit(flags *pflag.FlagSet, e *client.MessageChange) error {
	for member, text := range map[string]*string{"channel": &f.to.Channel, "app": &f.to.App, "device": &f.to.Device} {
		if flags.Changed("to-" + member) {
			if e.To == nil {
				e.To = make(map[string]*string)
			}
			e.To[member] = text
		}
	}
	given, err := f.content()
	e.Badge, e.Channels = given.Badge, given.Channels
	e.ClearBadge = flags.Changed("badge") && f.badge == ""
	e.ClearChannels = flags.Changed("channels") && f.channels == ""
	return err
}
