package devices

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
)

// Gone is a device that its provider knows no more.
type Gone struct {
	ID      string
	Address string    // that was sent to
	Since   time.Time // since when it is gone, as the provider says; zero if it does not
}

// RemoveGone removes devices, unless they got another address meanwhile or were registered
// after the time that their provider says. It returns the ids of those that it removed, also beside
// an error.
func (s *Store) RemoveGone(ctx context.Context, user string, gone []Gone) ([]string, error) {
	const doing = "removing devices that are gone"
	args := make([]any, 1, 1+3*len(gone))
	args[0] = user
	for _, g := range gone {
		if err := checkDevices(user, g.ID); err != nil {
			return nil, err
		}
		args = append(args, g.ID, g.Address, script.Milliseconds(g.Since))
	}
	if len(gone) == 0 {
		return nil, nil
	}
	answer, err := s.run(ctx, lua.DeviceRemoveGone, doing, user, args...)
	if err != nil {
		return nil, err
	}
	in := script.Read(answer, doing)
	ids := in.Nested(0)
	removed, counts := ids.Strings(0), readCounts(in, 1)
	in.Absorb(ids)
	if in.Err != nil {
		return nil, in.Err
	}
	return removed, s.note(ctx, user, counts, "", "")
}

// NoteSuccess notes that devices accepted a push now. A success is kept to the hour, so at most
// one call an hour writes. Devices that are not there are ignored, here and below. NoteSuccess
// returns how many it noted.
func (s *Store) NoteSuccess(ctx context.Context, user string, ids []string) (int, error) {
	return s.each(ctx, lua.DeviceNoteSuccess, "noting successes of devices", user, script.Milliseconds(s.at), ids)
}

// MarkSuspect marks devices that their provider called gone when too many were. They stay. It
// returns how many were not marked before.
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
	answer, err := script.Run(ctx, s.client, call, doing, []string{s.keys.Devices(user)}, args)
	if err != nil {
		return 0, err
	}
	in := script.Read(answer, doing)
	return int(in.Int(0)), in.Err
}
