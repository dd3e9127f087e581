package channels

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// deviceChannel is a channel to devices that the settings may name.
type deviceChannel struct {
	name string
	set  func(config.Config) bool
	// credentials returns the secret, or the file that has it, and the secret's setting
	// without the channel's name.
	credentials func(config.Config) (secret config.Secret, file, field string)
	// open opens the channel with the content of its credentials.
	open   func(c config.Config, credentials []byte, now func() time.Time) (notifier.Notifier, error)
	fields []string // its settings that can be wrong, without the channel's name
}

// deviceChannels returns the channels to devices, in the order in which they are shown.
func deviceChannels() []deviceChannel {
	return []deviceChannel{
		{
			name: notifier.ChannelFCM,
			set:  func(c config.Config) bool { return c.FCM.Set() },
			credentials: func(c config.Config) (config.Secret, string, string) {
				return c.FCM.Credentials, c.FCM.CredentialsFile, "credentials"
			},
			open: func(c config.Config, credentials []byte, now func() time.Time) (notifier.Notifier, error) {
				return opened(fcm.New(fcm.Config{
					Credentials: credentials, Endpoint: c.FCM.Endpoint, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
				}))
			},
			fields: []string{"credentials", "endpoint"},
		},
		{
			name: notifier.ChannelAPNs,
			set:  func(c config.Config) bool { return c.APNs.Set() },
			credentials: func(c config.Config) (config.Secret, string, string) {
				return c.APNs.Key, c.APNs.KeyFile, "key"
			},
			open: func(c config.Config, key []byte, now func() time.Time) (notifier.Notifier, error) {
				return opened(apns.New(apns.Config{
					Key: key, KeyID: c.APNs.KeyID, TeamID: c.APNs.TeamID, Topic: c.APNs.Topic, Topics: c.APNs.Topics,
					Sandbox: c.APNs.Sandbox, Endpoint: c.APNs.Endpoint, Connections: c.APNs.Connections,
					Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
				}))
			},
			fields: []string{"key", "key_id", "team_id", "topic", "topics", "endpoint", "connections"},
		},
		{
			name: notifier.ChannelWebPush,
			set:  func(c config.Config) bool { return c.WebPush.Set() },
			credentials: func(c config.Config) (config.Secret, string, string) {
				return c.WebPush.PrivateKey, c.WebPush.PrivateKeyFile, "private_key"
			},
			open: func(c config.Config, key []byte, now func() time.Time) (notifier.Notifier, error) {
				return opened(webpush.New(webpush.Config{
					PrivateKey: strings.TrimSpace(string(key)), Subject: c.WebPush.Subject, Hosts: c.WebPush.Hosts,
					AllowInternal: c.WebPush.AllowInternal, Timeout: c.PushTimeout, UserAgent: cli.UserAgent(), Now: now,
				}))
			},
			fields: []string{"private_key", "subject", "hosts"},
		},
	}
}

// opened returns a nil Notifier, rather than one with a nil pointer, if there is an error.
func opened[C notifier.Notifier](channel C, err error) (notifier.Notifier, error) {
	if err != nil {
		return nil, err
	}
	return channel, nil
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

// OpenDevices opens the channels to devices that the settings name. A channel whose credentials
// are in a file is opened again when the file changes, until it is closed. What is signed has the
// time of now. The error contains a *fault.InvalidError for each wrong setting.
func OpenDevices(ctx context.Context, c config.Config, now func() time.Time, logger *slog.Logger) ([]Opened, error) {
	var all []Opened
	var problems []error
	for _, d := range deviceChannels() {
		if !d.set(c) {
			continue
		}
		channel, err := d.follow(ctx, c, now, logger)
		if err != nil {
			problems = append(problems, d.explain(c, err))
			continue
		}
		all = append(all, Opened{Name: d.name, Notifier: channel, HasDevices: true})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, errors.Join(err, CloseAll(all))
	}
	return all, nil
}

// OpenAll opens the channels to devices, as OpenDevices does, and the push target, whose secret is
// followed too. The target "log:" writes lines to log.
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

// Names returns the names of the channels to devices that the settings name.
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

// follow opens the channel, and keeps it up to date with the file of its credentials.
func (d deviceChannel) follow(
	ctx context.Context, c config.Config, now func() time.Time, logger *slog.Logger,
) (notifier.Notifier, error) {
	secret, file, _ := d.credentials(c)
	if file == "" {
		return d.open(c, []byte(secret), now)
	}
	return opened(reload.New(ctx, reload.Options{
		File: file,
		Open: func(content []byte) (notifier.Notifier, error) { return d.open(c, content, now) },
		Reloaded: func(err error) {
			if err != nil {
				logger.ErrorContext(ctx, "could not read the credentials of a channel again", "channel", d.name, "error", d.explain(c, err))
				return
			}
			logger.InfoContext(ctx, "read the credentials of a channel again", "channel", d.name)
		},
	}))
}

// explain names the settings in an error of a channel.
func (d deviceChannel) explain(c config.Config, err error) error {
	_, file, secret := d.credentials(c)
	setting := func(field string) (name string, isFile bool) {
		if isFile = field == secret && file != ""; isFile {
			field += "_file"
		}
		return d.name + "." + field, isFile
	}
	wrong := invalidFields(err)
	if len(wrong) == 0 {
		name, _ := setting(secret)
		return fault.Wrong(name, "%s: %v", name, err)
	}
	problems := make([]error, len(wrong))
	for i, w := range wrong {
		problem := &fault.InvalidError{Value: w.Value, Want: w.Want}
		field, _, _ := strings.Cut(w.Field, ".") // what follows names a part of the credentials
		var isFile bool
		if problem.Field, isFile = setting(field); isFile {
			problem.Value = file
		}
		problems[i] = problem
	}
	return errors.Join(problems...)
}

// invalidFields returns every setting that an error of a channel calls wrong.
func invalidFields(err error) []*notifier.InvalidError {
	switch e := err.(type) { //nolint:errorlint // it walks the whole tree
	case nil:
		return nil
	case *notifier.InvalidError:
		return []*notifier.InvalidError{e}
	case interface{ Unwrap() []error }:
		var all []*notifier.InvalidError
		for _, one := range e.Unwrap() {
			all = append(all, invalidFields(one)...)
		}
		return all
	default:
		return invalidFields(errors.Unwrap(err))
	}
}

// ValidDevices returns a config.Check for each setting of the channels to devices, so that every
// wrong setting is reported.
func ValidDevices() []config.Check {
	var checks []config.Check
	for _, d := range deviceChannels() {
		for _, field := range d.fields {
			checks = append(checks, func(c config.Config) *fault.InvalidError { return d.wrong(c, field) })
		}
	}
	return checks
}

// wrong returns what is wrong with one field of the channel's settings; nil for nothing.
func (d deviceChannel) wrong(c config.Config, field string) *fault.InvalidError {
	if !d.set(c) {
		return nil
	}
	err := d.try(c)
	if err == nil {
		return nil
	}
	_, file, secret := d.credentials(c)
	if field == secret && file != "" {
		field += "_file"
	}
	return settingIn(d.explain(c, err), d.name+"."+field)
}

// try opens the channel and closes it again.
func (d deviceChannel) try(c config.Config) error {
	channel, err := d.openOnce(c)
	if err != nil {
		return err
	}
	return ClosePush(channel)
}

// openOnce opens the channel with the credentials as they are now.
func (d deviceChannel) openOnce(c config.Config) (notifier.Notifier, error) {
	secret, file, _ := d.credentials(c)
	content := []byte(secret)
	if file != "" {
		var err error
		if content, err = reload.Read(file); err != nil {
			return nil, fmt.Errorf("opening %s: %w", d.name, err)
		}
	}
	return d.open(c, content, time.Now)
}

// settingIn returns what an error says about one setting; nil for nothing.
func settingIn(err error, name string) *fault.InvalidError {
	switch e := err.(type) { //nolint:errorlint // it walks the whole tree
	case *fault.InvalidError:
		if e.Field == name {
			return e
		}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if found := settingIn(one, name); found != nil {
				return found
			}
		}
	}
	return nil
}
