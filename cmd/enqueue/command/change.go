package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/sendlimit/sendlimiter/client"
	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/cmd/internal/operations"
	"github.com/sendlimit/sendlimiter/message"
)

func (p *program) cancelCommand() *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "Cancel a message",
		Long: `Cancel a message that is not being sent yet. Its place and its id become free. If
a delivery may have arrived, the place still counts. Cancelling twice is not an
error.`,
		Example: `  sendlimit cancel --user alice order-17`,
		RunE: p.Run(func(ctx context.Context, c *client.Client, args []string) error {
			o, err := c.CancelMessage(ctx, user, args[0])
			return p.answer(ctx, c, answer{Outcome: o}, err)
		}),
	}
	userFlag(cmd, &user)
	changeFlags(cmd, "keep-records")
	return cmd
}

func (p *program) moveCommand() *cobra.Command {
	var user, at, until string
	var change client.MessageChange
	cmd := &cobra.Command{
		Use: "move ID", Short: "Give a message another send time",
		Long: `Give a message another send time. This is possible until it is being sent, and
not after a delivery that may have arrived. If the new time is refused, the
message keeps the old one. With --on-conflict shift it gets the next free time
after the new one instead.`,
		Example: `  sendlimit move --user alice order-17 --at "$(date -d tomorrow +%F) 12:00" --tz Europe/Berlin
  sendlimit move --user alice order-17 --at +2h
  sendlimit move --user alice order-17 --at +2h --on-conflict shift --shift-until +6h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			to, local, err := p.messageTime("at", at)
			if err != nil {
				return err
			}
			last, localLast, err := p.messageMoment("shift_until", until)
			if err != nil {
				return err
			}
			change.SendAt, change.ShiftUntil = &to.At, last
			change.Local.SendAt, change.Local.ShiftUntil = local, localLast
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				o, err := c.Change(ctx, user, args[0], change)
				return p.answer(ctx, c, answer{Outcome: o, try: func(o message.Outcome) string {
					return again(cmd, args, o, time.Time{}, last)
				}}, err)
			})
		},
	}
	userFlag(cmd, &user)
	cmd.Flags().StringVar(&at, "at", "", "new send `time`: RFC 3339, now, +90m, or YYYY-MM-DD HH:MM with --tz")
	cmd.Flags().StringVar(&change.OnConflict, "on-conflict", "", "`action` if the time is taken or quiet: refuse, or shift (default refuse)")
	cmd.Flags().StringVar(&until, "shift-until", "", "latest `time` for a shift (default: a day after --at)")
	cli.Words(cmd.Flags(), "on-conflict", message.OnConflictRefuse, message.OnConflictShift)
	needs(cmd, "at")
	changeFlags(cmd, "expire-after", "places-per-day", "reach")
	p.messageZoneFlag(cmd, &change.Local.Strict)
	followZoneFlag(cmd, &change.Local.FollowZone)
	return cmd
}

// edit has the flags of change.
type edit struct {
	user, expiresAt              string
	data, metadata               []string
	withoutData, withoutMetadata []string
	content                      pushFlags
	strict                       bool
}

func (p *program) editCommand() *cobra.Command {
	var e edit
	cmd := &cobra.Command{
		Use:   "change ID",
		Short: "Change the content or the expiry of a message",
		Long: `Change the content or the expiry of a message that is not being sent yet. It
keeps its place, and fields without a flag keep their values. Submitting the
original message again still finds this one. An empty text, number or --to
removes the value. --channels is a JSON merge patch, in which null removes a
member.`,
		Example: `  sendlimit change --user alice order-17 --title "Your table is ready" --data table=7
  sendlimit change --user alice order-17 --body "" --without-data table
  sendlimit change --user alice order-17 --image "" --channels '{"apns": null}'
  sendlimit change --user alice order-17 --expires-at none`,
		RunE: func(cmd *cobra.Command, args []string) error {
			changes, err := p.changes(cmd, e)
			if err != nil {
				return err
			}
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				o, err := c.Change(ctx, e.user, args[0], changes)
				return p.answer(ctx, c, answer{Outcome: o}, err)
			})
		},
	}
	flags := cmd.Flags()
	userFlag(cmd, &e.user)
	flags.String("title", "", "new title `text`; empty for none")
	flags.String("body", "", "new body `text`; empty for none")
	flags.StringArrayVar(&e.data, "data", nil, "`key=value` to set; repeatable")
	flags.StringArrayVar(&e.withoutData, "without-data", nil, "`key` of data to remove; repeatable")
	flags.StringArrayVar(&e.metadata, "meta", nil, "`key=value` of metadata to set; repeatable")
	flags.StringArrayVar(&e.withoutMetadata, "without-meta", nil, "`key` of metadata to remove; repeatable")
	e.content.add(flags)
	flags.StringVar(&e.expiresAt, "expires-at", "", "new `time` after which the message is dropped instead of sent;"+
		" none for the default, the worker's expire_after after its send time")
	cmd.MarkFlagsOneRequired(append([]string{"title", "body", "data", "without-data", "meta", "without-meta", "expires-at"}, pushFlagNames()...)...)
	changeFlags(cmd, "expire-after", "reach")
	p.messageZoneFlag(cmd, &e.strict)
	return cmd
}

// changes returns what the flags change.
func (p *program) changes(cmd *cobra.Command, e edit) (client.MessageChange, error) {
	var changes client.MessageChange
	if cmd.Flags().Changed("expires-at") {
		text := e.expiresAt
		if text == "none" {
			text = ""
		}
		at, local, err := p.messageMoment("expires_at", text)
		if err != nil {
			return changes, err
		}
		changes.ExpiresAt, changes.Local.ExpiresAt, changes.Local.Strict = &at, local, e.strict
	}
	_, err := operations.Fill(cmd.Flags(), &changes) // the texts
	if err != nil {
		return changes, err
	}
	if err = e.content.edit(cmd.Flags(), &changes); err != nil {
		return changes, err
	}
	if changes.Data, err = changedEntries("data", "data", e.data, e.withoutData); err != nil {
		return changes, err
	}
	changes.Metadata, err = changedEntries("metadata", "meta", e.metadata, e.withoutMetadata)
	return changes, err
}

// changedEntries returns entries to set, and nil for those to remove.
func changedEntries(field, flag string, set, remove []string) (map[string]*string, error) {
	given, err := entries(field, flag, set)
	if err != nil {
		return nil, err
	}
	changed := make(map[string]*string, len(given)+len(remove))
	for key, value := range given {
		changed[key] = &value
	}
	for _, key := range remove {
		changed[key] = nil
	}
	return changed, nil
}
