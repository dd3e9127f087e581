package submit

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// editTries bounds how often a message may change between reading it and changing it.
const editTries = 5

// Change changes the send time, the content or the expiry of a message, or all of them, until it is
// being sent. A change without a move costs nothing and is judged by no rule. If the move is
// refused, nothing is changed. A change that makes no difference is no error.
//
// A repeated submit of the original message is still answered as a replay. A submit of the changed
// message is another message.
func (s *Submitter) Change(ctx context.Context, user, id string, p message.Patch) (message.Outcome, error) {
	if p.Local == nil {
		return s.changeInZone(ctx, user, id, p, "", "")
	}
	if err := p.Validate(); err != nil {
		return message.InvalidOr(err, user, id)
	}
	if p.InZoneOfUser() { // an edit is not judged
		if err := s.learnZone(ctx, user); err != nil {
			return message.Outcome{}, err
		}
	}
	return untilSameZone(func() (message.Outcome, error) {
		rules := s.Policies.Rules()
		zone := ""
		if p.InZoneOfUser() {
			zone = rules.Zone(user).String()
		}
		in, read, err := p.Resolve(zonesOf(rules, user))
		if err != nil {
			return message.InvalidOr(err, user, id)
		}
		read = read.Following(rules.HasOwnZone(user))
		local := message.EncodeLocal(read)
		in.Local = nil
		o, err := s.changeInZone(ctx, user, id, in, zone, local)
		if o.Local = read; o.Code == fault.CodeNotFound {
			o.Local = nil
		}
		return o, err
	})
}

// changeInZone is Change for a change whose times depend on the user's zone, "" for none. local is the
// local time of the move, "" for none.
func (s *Submitter) changeInZone(ctx context.Context, user, id string, p message.Patch, zone, local string) (message.Outcome, error) {
	if err := p.Validate(); err != nil {
		return message.InvalidOr(err, user, id)
	}
	if p.Move != nil && p.Edit.None() && local == "" {
		return s.moveTo(ctx, user, id, *p.Move, nil, zone)
	}
	for range editTries {
		stored, of, err := s.records.Versioned(ctx, user, id)
		if err != nil {
			return message.InvalidOr(err, user, id)
		}
		if !s.owns(stored.Account) || stored.State == messages.StateUnknown {
			return outcomeOf(notFound(), message.Changed, user, id), nil
		}
		edit, edited, err := editOf(stored, of, p.Edit)
		if stored.State == messages.StatePending && local != "" && local != stored.Local {
			edit.What, edit.Local = append(edit.What, sendlimit.EditLocal), local
		}
		if err == nil && slices.Contains(edit.What, sendlimit.EditContent) {
			err = s.channels.check(ctx, edited, len(edit.Content))
		}
		if err != nil {
			return message.InvalidOr(err, user, id)
		}
		var o message.Outcome
		if p.Move == nil || !p.Move.Now && p.Move.At.UnixMilli() == stored.SendAt.UnixMilli() {
			o, err = s.edit(ctx, user, id, edit, p.Move != nil)
		} else {
			o, err = s.moveTo(ctx, user, id, *p.Move, &edit, zone)
		}
		if err != nil || o.Code != fault.CodeEdited {
			return o, err
		}
	}
	return message.Outcome{}, errContended("changing a message")
}

// editOf returns the edit from a message to the wanted one, and the edited message. The edit is
// empty if they are equal, or if the message is not pending. The error is a *fault.InvalidError or
// fault.InvalidErrors about wanted.
func editOf(m messages.Stored, of sendlimit.Version, wanted message.Edit) (sendlimit.Edit, message.Message, error) {
	edit := sendlimit.Edit{Of: of}
	var edited message.Message
	if m.State != messages.StatePending {
		return edit, edited, nil
	}
	status, err := StoredStatus(m)
	if err != nil {
		return edit, edited, err
	}
	content, metadata, err := wanted.Of(status.Content, status.Metadata)
	if err != nil {
		return edit, edited, err
	}
	edited = message.Message{
		ID: m.ID, User: m.User, SendAt: m.SendAt, Category: m.Category, Campaign: m.Campaign, Metadata: metadata,
		Title: content.Title, Body: content.Body, Data: content.Data, PushContent: content.PushContent,
		ExpiresAt: m.ExpiresAt, Account: m.Account,
	}
	if edit.Content, err = message.EncodeContent(edited); err != nil {
		return edit, edited, err
	}
	if edit.Metadata, err = message.EncodeMetadata(metadata); err != nil {
		return edit, edited, err
	}
	if !bytes.Equal(edit.Content, m.Content) {
		edit.What = append(edit.What, sendlimit.EditContent)
	}
	if !bytes.Equal(edit.Metadata, m.Metadata) {
		edit.What = append(edit.What, sendlimit.EditMetadata)
	}
	if wanted.ExpiresAt != nil && !wanted.ExpiresAt.Equal(m.ExpiresAt) {
		edit.What, edit.ExpiresAt = append(edit.What, sendlimit.EditExpiresAt), *wanted.ExpiresAt
	}
	return edit, edited, nil
}

// edit changes a message that keeps its place. moves reports whether the caller asked for a move to
// that same time.
func (s *Submitter) edit(ctx context.Context, user, id string, edit sendlimit.Edit, moves bool) (message.Outcome, error) {
	timeline, err := s.Timeline(ctx)
	if err != nil {
		return message.Outcome{}, err
	}
	if full := s.capacity.refusal(ctx); full != nil && len(edit.What) > 0 {
		return message.Outcome{}, full
	}
	var d sendlimit.Decision
	err = s.replicas.secure(ctx, timeline, user, func(t *sendlimit.Timeline) (bool, error) {
		var err error
		d, err = t.Edit(ctx, sendlimit.EditRequest{User: user, ID: id, Edit: edit})
		return d.Allowed, err
	})
	switch {
	case err != nil:
		return message.InvalidOr(err, user, id)
	case !d.Latest.IsZero():
		return message.InvalidOr(expiresLate(edit.ExpiresAt, d.Latest), user, id)
	case !d.ExpiresAt.IsZero():
		return message.InvalidOr(fault.Wrong("expires_at", "expires_at, %s, is not after send_at, %s",
			edit.ExpiresAt.UTC().Format(time.RFC3339Nano), d.At.Format(time.RFC3339Nano)), user, id)
	}
	o := outcomeOf(d, message.Changed, user, id)
	if d.Allowed && moves {
		o.Outcome, o.MovedFrom = message.Moved, o.SendAt
	}
	return o, s.explainEnded(ctx, &o)
}
