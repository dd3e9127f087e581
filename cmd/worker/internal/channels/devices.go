package channels

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/apns"
	"github.com/sendlimit/sendlimiter/notifier/fcm"
	"github.com/sendlimit/sendlimiter/notifier/reload"
	"github.com/sendlimit/sendlimiter/notifier/webpush"
)

// deviceChannel is a channel to devices.
type deviceChannel struct {
	name   string
	set    func(config.Config) bool
	secret secret // credentials
	open   func(c config.Config, now func() time.Time) (notifier.Notifier, error)
}

// deviceChannels returns the channels to devices, in display order.
func deviceChannels() []deviceChannel {
	return []deviceChannel{
		{
			name: notifier.ChannelFCM,
			set:  func(c config.Config) bool { return c.FCM.Set() },
			secret: secret{"fcm.credentials", func(c *config.Config) (*config.Secret, string) {
				return &c.FCM.Credentials, c.FCM.CredentialsFile
			}},
			open: func(c config.Config, now func() time.Time) (notifier.Notifier, error) {
				return as[notifier.Notifier](fcm.New(fcm.Config{
					Credentials: []byte(c.FCM.Credentials), Endpoint: c.FCM.Endpoint, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
				}))
			},
		},
		{
			name: notifier.ChannelAPNs,
			set:  func(c config.Config) bool { return c.APNs.Set() },
			secret: secret{"apns.key", func(c *config.Config) (*config.Secret, string) {
				return &c.APNs.Key, c.APNs.KeyFile
			}},
			open: func(c config.Config, now func() time.Time) (notifier.Notifier, error) {
				return as[notifier.Notifier](apns.New(apns.Config{
					Key: []byte(c.APNs.Key), KeyID: c.APNs.KeyID, TeamID: c.APNs.TeamID, Topic: c.APNs.Topic, Topics: c.APNs.Topics,
					Sandbox: c.APNs.Sandbox, Endpoint: c.APNs.Endpoint, Connections: c.APNs.Connections,
					Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
				}))
			},
		},
		{
			name: notifier.ChannelWebPush,
			set:  func(c config.Config) bool { return c.WebPush.Set() },
			secret: secret{"webpush.private_key", func(c *config.Config) (*config.Secret, string) {
				return &c.WebPush.PrivateKey, c.WebPush.PrivateKeyFile
			}},
			open: func(c config.Config, now func() time.Time) (notifier.Notifier, error) {
				return as[notifier.Notifier](webpush.New(webpush.Config{
					PrivateKey: strings.TrimSpace(string(c.WebPush.PrivateKey)), Subject: c.WebPush.Subject, Hosts: c.WebPush.Hosts,
					AllowInternal: c.WebPush.AllowInternal, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
				}))
			},
		},
	}
}

// Opened is an opened channel.
type Opened struct {
	Name string // such as notifier.ChannelFCM
	notifier.Notifier

	HasDevices bool // whether it delivers to devices of users
}

// Probe asks the provider whether it accepts the credentials. Nothing is sent to any device.
func (d Opened) Probe(ctx context.Context) notifier.Result {
	if prober, ok := d.Notifier.(notifier.Prober); ok {
		return prober.Probe(ctx)
	}
	return notifier.Result{Status: notifier.Delivered}
}

// OpenDevices opens the channels to devices of the settings. A channel whose credentials are in a
// file is opened again when the file changes, until it is closed. Signatures have the time of now.
// The error contains a *fault.InvalidError for each wrong setting.
func OpenDevices(ctx context.Context, c config.Config, now func() time.Time, logger *slog.Logger) ([]Opened, error) {
	var all []Opened
	var problems []error
	for _, d := range deviceChannels() {
		if !d.set(c) {
			continue
		}
		channel, err := follow(ctx, d.secret, c, logger, reload.New, func(c config.Config) (notifier.Notifier, error) { return d.open(c, now) })
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, Opened{Name: d.name, Notifier: channel, HasDevices: true})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, errors.Join(err, CloseAll(all))
	}
	return all, nil
}

// OpenAll opens the channels to devices, as OpenDevices does, and the push target, whose secret it
// follows too. The target "log:" writes lines to log.
func OpenAll(
	ctx context.Context, c config.Config, now func() time.Time, log io.Writer, logger *slog.Logger,
) ([]Opened, error) {
	all, err := OpenDevices(ctx, c, now, logger)
	if err != nil || c.PushTarget() == "" {
		return all, err
	}
	target, err := followPush(ctx, c, now, log, logger)
	if err != nil {
		return nil, errors.Join(err, CloseAll(all))
	}
	return append(all, Opened{Name: TargetName(c.PushTarget()), Notifier: target}), nil
}

// Names returns the names of the channels to devices of the settings.
func Names(c config.Config) []string {
	var names []string
	for _, d := range deviceChannels() {
		if c.Deliver && d.set(c) {
			names = append(names, d.name)
		}
	}
	return names
}

// CloseAll closes channels that OpenDevices or OpenAll returned.
func CloseAll(all []Opened) error {
	var problems []error
	for _, d := range all {
		problems = append(problems, ClosePush(d.Notifier))
	}
	return errors.Join(problems...)
}

// ValidDevices is a config.Check of the settings of the channels to devices.
func ValidDevices(c config.Config) error {
	opened, err := OpenDevices(context.Background(), c, time.Now, slog.New(slog.DiscardHandler))
	return errors.Join(err, CloseAll(opened))
}
