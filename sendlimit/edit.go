package sendlimit

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/internal/judge"
	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Version identifies a state of a message, to detect later changes. messages.Records.Versioned
// returns it.
type Version struct {
	Generation string
	Changes    int // as in the record's history
}

// Edit changes a record without its place. The fingerprint stays: a repeated Reserve with the first
// one is Replayed, even after edits.
type Edit struct {
	// Of is the version that the edit is based on. If the message has changed since, the code is
	// CodeEdited: read it again.
	Of Version
	// What says which of the other fields are set. Without any of them the edit changes nothing, and
	// says only whether it would be possible.
	What      []string
	Content   []byte    // as in Record
	Metadata  []byte    // as in Record
	ExpiresAt time.Time // as in Record; it must be after the send time, else the code is CodePastExpiry
	Local     string    // as in Record
}

// Values of Edit.What.
const (
	EditContent   = "content"
	EditMetadata  = "metadata"
	EditExpiresAt = "expires_at"
	EditLocal     = "send_at"   // Edit.Local, by the caller
	EditZone      = "time_zone" // Edit.Local, because the user's zone has changed: the message stays as its request asked
)

// arguments returns the edit as lua/fragments/edit.lua reads it; nil without an edit.
func (e *Edit) arguments() ([]any, error) {
	if e == nil {
		return nil, nil
	}
	if err := keyspace.CheckToken("generation", e.Of.Generation); err != nil {
		return nil, err
	}
	var what []string
	for _, name := range []string{EditContent, EditMetadata, EditExpiresAt, EditLocal, EditZone} {
		if slices.Contains(e.What, name) {
			what = append(what, name)
		}
	}
	if len(what) != len(e.What) {
		return nil, &fault.InvalidError{
			Field: "what", Value: strings.Join(e.What, ", "), Want: "content, metadata, expires_at, send_at and time_zone, each once at most",
		}
	}
	args := []any{e.Of.Generation, e.Of.Changes, strings.Join(what, ", "), ""}
	if slices.Contains(what, EditExpiresAt) {
		args[3] = script.Milliseconds(e.ExpiresAt)
	}
	if slices.Contains(what, EditContent) {
		args = keyspace.AppendContent(args, e.Content)
	}
	if slices.Contains(what, EditMetadata) {
		args = keyspace.AppendMetadata(args, e.Metadata)
	}
	if slices.Contains(what, EditLocal) || slices.Contains(what, EditZone) {
		if err := checkLocal(e.Local); err != nil {
			return nil, err
		}
		args = append(args, keyspace.RecordLocal, e.Local)
	}
	return args, nil
}

// EditRequest changes a message that keeps its place. It is neither judged nor charged.
type EditRequest struct {
	User string
	ID   string
	Edit Edit
	Now  time.Time // as in Request
}

// Edit changes content, metadata and expiry of a message until its delivery begins. Decision.At is
// its send time. It needs records. MoveRequest.Edit makes an edit together with a move.
//
// The code is CodeEdited if the message is not as Edit.Of says. An earlier call with a lost reply
// can be the reason: read the message again, and compare.
func (t *Timeline) Edit(ctx context.Context, r EditRequest) (Decision, error) {
	const doing = "changing a message"
	if err := keyspace.CheckMessage(r.User, r.ID); err != nil {
		return Decision{}, err
	}
	if !t.options.Records {
		return Decision{}, &fault.InvalidError{Field: "edit", Value: r.ID, Want: "none: this timeline keeps places only"}
	}
	edit, err := r.Edit.arguments()
	if err != nil {
		return Decision{}, err
	}
	book, err := t.book()
	if err != nil {
		return Decision{}, err
	}
	latest := t.options.Reach + ExpiryBeyondReach
	args := append([]any{script.Milliseconds(r.Now), latest.Milliseconds(), t.options.ExpireAfter.Milliseconds()}, edit...)
	keys := []string{t.keys.Record(r.User, r.ID), t.keys.Timeline(r.User), t.keys.Waiting(r.User)}
	answer, err := script.Run(ctx, t.client, lua.Edit, doing, keys, args)
	if err != nil {
		return Decision{}, err
	}
	return t.decision(ctx, script.Read(answer, doing), Request{User: r.User}, judge.UserRules{Rules: book.Base, Book: book}, r.ID)
}
