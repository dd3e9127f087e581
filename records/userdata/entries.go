package userdata

import (
	"context"
	"time"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// watched adds what one list of the watch list has of the user. An entry that moves to another
// list meanwhile may be added twice, see Data.sort.
func (u *Users) watched(ctx context.Context, k userKey, into *Data) error {
	members, err := u.members(ctx, k.key, k.kind.entryOf(into.User))
	for member, at := range members {
		_, id, generation, _ := keyspace.ParseWatchMember(member)
		into.Watched = append(into.Watched, WatchEntry{ID: id, Generation: generation, At: time.UnixMilli(at).UTC()})
	}
	return err
}

func (u *Users) deadLetters(ctx context.Context, key, user string) ([]keyspace.Reservation, error) {
	members, err := u.members(ctx, key, deadLettersKey.entryOf(user))
	var found []keyspace.Reservation
	for member, at := range members {
		_, id, _ := keyspace.ParseDeadLetterMember(member)
		found = append(found, keyspace.Reservation{ID: id, At: time.UnixMilli(at).UTC()})
	}
	return found, err
}

// entries lists what a sorted set of the partition has of a user, with the times.
func (u *Users) entries(ctx context.Context, k userKey, user string) (map[string]time.Time, error) {
	members, err := u.members(ctx, k.key, k.kind.entryOf(user))
	if len(members) == 0 {
		return nil, err
	}
	found := make(map[string]time.Time, len(members))
	for member, at := range members {
		found[member] = time.UnixMilli(at).UTC()
	}
	return found, err
}

// entryOf tells which members of a partition's sorted set are of a user.
func (k keyKind) entryOf(user string) func(member string) bool {
	return func(member string) bool {
		var of string
		switch k {
		case watchKey, farKey:
			of, _, _, _ = keyspace.ParseWatchMember(member)
		case idsKey, campaignsKey:
			of, _, _ = keyspace.ParseIndexMember(member)
		case deadLettersKey:
			of, _, _ = keyspace.ParseDeadLetterMember(member)
		case noticesKey, deadNoticesKey:
			return notices.IsAbout(member, user)
		case gatheredKey:
			return notices.GatheredIsAbout(member, user)
		case indexKey:
			of = settings.IndexedUser(member)
		case timelineKey, uncountedKey, lateMarkKey, waitingKey, endedKey, settingsKey, devicesKey, categoryKey, recordKey, flagKey, noticeKey, copiesKey:
		}
		return of == user
	}
}
