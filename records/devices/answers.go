package devices

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// Gone is a device that its provider no longer knows.
type Gone struct {
	ID      string
	Address string    // that was sent to
	Since   time.Time // since when it is gone, as the provider says; zero if it does not
}

// RemoveGone removes devices, unless they got another address meanwhile or were registered after
// Since. It returns the ids of the removed devices, even with an error.
func (s *Store) RemoveGone(ctx context.Context, user string, gone []Gone) ([]string, error) {
	if err := keyspace.CheckUser(user); err != nil || len(gone) == 0 {
		return nil, err
	}
	removals := make([]removal, 0, len(gone))
	for _, g := range gone {
		if err := CheckID(g.ID); err != nil {
			return nil, err
		}
		removals = append(removals, removal{id: g.ID, account: anyAccount, address: g.Address, since: g.Since})
	}
	removed, err := s.remove(ctx, user, removals...)
	ids := make([]string, 0, len(removed))
	for _, d := range removed {
		ids = append(ids, d.ID)
		if err == nil {
			err = s.forget(ctx, user, d)
		}
	}
	return ids, err
}

// NoteSuccess notes that devices accepted a push now, and returns how many it noted. A success is
// stored to the hour, so at most one call an hour writes. Unknown devices are ignored, here and below.
func (s *Store) NoteSuccess(ctx context.Context, user string, ids []string) (int, error) {
	return s.each(ctx, lua.DeviceNoteSuccess, "noting successes of devices", user, script.Milliseconds(s.at), ids)
}

// MarkSuspect marks devices that their provider called gone while too many were gone, instead of
// removing them. It returns how many were not marked before.
func (s *Store) MarkSuspect(ctx context.Context, user string, ids []string) (int, error) {
	return s.each(ctx, lua.DeviceSuspect, "marking devices", user, 1, ids)
}

// ClearSuspect removes the mark of MarkSuspect. It returns how many were marked.
func (s *Store) ClearSuspect(ctx context.Context, user string, ids []string) (int, error) {
	return s.each(ctx, lua.DeviceSuspect, "clearing the mark of devices", user, 0, ids)
}

// each calls a script that changes some devices, with an argument before their ids.
func (s *Store) each(ctx context.Context, call *lua.Script, doing, user string, first any, ids []string) (int, error) {
	if err := checkDevices(user, ids...); err != nil || len(ids) == 0 {
		return 0, err
	}
	args := []any{first}
	for _, id := range ids {
		args = append(args, id)
	}
	in := script.Call(ctx, s.client, call, doing, []string{s.keys.Devices(user)}, args)
	return int(in.Int(0)), in.Err
}
