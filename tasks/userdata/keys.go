package userdata

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// userKey is a key that has data of a user.
type userKey struct {
	key  string
	run  string // the token of the dry run, of a copy; else ""
	kind keyKind
	name string // follows the user in the key: the id of a record's message
}

// keyKind is the kind of a key, as Keys spells it.
type keyKind string

// The keys of a user end with the user, or with the user and a name without colon. Before the user
// there may be a category, which has no colon either. The keys of a partition have data of all its
// users.
const (
	timelineKey  keyKind = "u"
	uncountedKey keyKind = "x"
	lateMarkKey  keyKind = "l"
	waitingKey   keyKind = "w"
	endedKey     keyKind = "e"
	settingsKey  keyKind = "o"
	devicesKey   keyKind = "d"

	categoryKey keyKind = "c"

	recordKey keyKind = "m"
	flagKey   keyKind = "alert"
	noticeKey keyKind = "n"

	watchKey       keyKind = "watch"
	farKey         keyKind = "far"
	idsKey         keyKind = "ids"
	campaignsKey   keyKind = "camps"
	deadLettersKey keyKind = "dead"
	copiesKey      keyKind = "copies"
	noticesKey     keyKind = "notices"
	deadNoticesKey keyKind = "deadnotices"
	gatheredKey    keyKind = "gathered"
	indexKey       keyKind = "users"
)

// sharedKeys are the keys of a partition, which have data of other users too. The functions report
// whether a member of a sorted set is a user's.
var sharedKeys = map[keyKind]func(member, user string) bool{ //nolint:globals // a constant table
	watchKey: isWatched, farKey: isWatched,
	idsKey: isIndexed, campaignsKey: isIndexed,
	deadLettersKey: func(member, user string) bool {
		of, _, _ := keyspace.ParseDeadLetterMember(member)
		return of == user
	},
	noticesKey: notices.IsAbout, deadNoticesKey: notices.IsAbout,
	gatheredKey: notices.GatheredIsAbout,
	indexKey:    func(member, user string) bool { return settings.IndexedUser(member) == user },
	copiesKey:   nil, // a hash, see copiesOf
}

func isWatched(member, user string) bool {
	of, _, _, _ := keyspace.ParseWatchMember(member)
	return of == user
}

func isIndexed(member, user string) bool {
	of, _, _ := keyspace.ParseIndexMember(member)
	return of == user
}

// shared reports whether the key has data of other users too.
func (k keyKind) shared() bool {
	_, is := sharedKeys[k]
	return is
}

// userKeys recognizes the keys of one user.
type userKeys struct {
	prefix, user string
	tag          string // ":{p0042}:"
}

func keysOfUser(k keyspace.Keys, user string) userKeys {
	return userKeys{prefix: k.Prefix(), user: user, tag: fmt.Sprintf(":{p%04d}:", keyspace.Partition(user))}
}

// pattern matches the keys of the user's partition in SCAN, including those of
// dry runs. It does not contain the user, whose name may have special characters.
func (u userKeys) pattern() string { return u.prefix + "*" + u.tag + "*" }

// parse parses a key. It returns ok false for a key of another user or another store.
func (u userKeys) parse(key string) (found userKey, ok bool) {
	head, rest, ok := strings.Cut(key, u.tag)
	if !ok {
		return userKey{}, false
	}
	run, copied := strings.CutPrefix(head, u.prefix+"-dry-")
	switch {
	case head == u.prefix:
		run = ""
	case !copied || strings.Contains(run, ":"): // the tag is in another user's name
		return userKey{}, false
	}
	kind, owner, owned := strings.Cut(rest, ":")
	found = userKey{key: key, run: run, kind: keyKind(kind)}
	if !owned {
		return found, found.kind.shared()
	}
	switch found.kind {
	case timelineKey, uncountedKey, lateMarkKey, waitingKey, endedKey, settingsKey, devicesKey:
		return found, owner == u.user
	case farKey, idsKey, campaignsKey:
		return found, true
	case categoryKey:
		category, of, _ := strings.Cut(owner, ":")
		found.name = category
		return found, of == u.user
	case noticeKey:
		found.name = owner
		return found, notices.IsAbout(owner, u.user)
	case flagKey:
		letter, subject, _ := strings.Cut(owner, ":")
		return found.named(subject, u.user, letter == keyspace.AlertOfUser)
	case recordKey:
		return found.named(owner, u.user, true)
	default:
		return userKey{}, false
	}
}

// named completes a key with the name after the user. It returns false if the key is not the user's.
func (k userKey) named(owner, user string, ok bool) (userKey, bool) {
	// A name has no colon: with one, the key belongs to a longer user.
	name, owned := strings.CutPrefix(owner, user+":")
	k.name = name
	return k, ok && owned && !strings.Contains(name, ":")
}

// id is the id of a record's message.
func (k userKey) id() string { return strings.ReplaceAll(k.name, "/", ":") }

// recordsAmong returns the keys of the user's records, without those of dry runs.
func recordsAmong(keys []userKey) (records []string) {
	for _, k := range keys {
		if k.kind == recordKey && k.run == "" {
			records = append(records, k.key)
		}
	}
	return records
}

// messagesAmong returns the ids of the messages that have these records, in order.
func messagesAmong(keys []userKey) (ids []string) {
	for _, k := range keys {
		if k.kind == recordKey && k.run == "" {
			ids = append(ids, k.id())
		}
	}
	slices.Sort(ids)
	return ids
}

// scanCount is about how many keys or members one call reads.
const scanCount = 1000

// Progress is called with how many keys were read, of about how many. It may be nil.
type Progress func(done, total int64)

// find lists the keys of a user. It checks the user, and scans all keys of the partition's server.
func (u *Users) find(ctx context.Context, user string, progress Progress) ([]userKey, error) {
	const doing = "looking for a user's keys"
	if err := keyspace.CheckUser(user); err != nil {
		return nil, err
	}
	server, err := u.serverOf(ctx, user)
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	total, err := server.DBSize(ctx).Result()
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	own := keysOfUser(u.keys, user)
	seen := make(map[string]bool) // SCAN may give a key twice
	var found []userKey
	var cursor uint64
	for done := int64(0); ; {
		var keys []string
		keys, cursor, err = server.Scan(ctx, cursor, own.pattern(), scanCount).Result()
		if err != nil {
			return nil, store.Explain(err, doing)
		}
		for _, key := range keys {
			k, ok := own.parse(key)
			if ok && !seen[key] {
				seen[key] = true
				found = append(found, k)
			}
		}
		done += scanCount
		if cursor == 0 {
			done = total
		}
		if progress != nil {
			progress(min(done, total), total)
		}
		if cursor == 0 {
			return found, nil
		}
	}
}

// serverOf returns the server of a user's partition.
func (u *Users) serverOf(ctx context.Context, user string) (redis.Cmdable, error) {
	switch client := u.client.(type) {
	case *redis.Client:
		return client, nil
	case *redis.ClusterClient:
		return client.MasterForKey(ctx, u.keys.Timeline(user))
	default:
		return nil, errors.New("the client is neither of one server nor of a cluster")
	}
}

// members returns the user's members of a sorted set of a partition, with their scores.
func (u *Users) members(ctx context.Context, k userKey, user string) (map[string]int64, error) {
	const doing = "looking through a partition"
	found := make(map[string]int64)
	entries := u.client.ZScan(ctx, k.key, 0, "", scanCount).Iterator()
	for entries.Next(ctx) { // member and score in turn
		member := entries.Val()
		if !entries.Next(ctx) || !sharedKeys[k.kind](member, user) {
			continue
		}
		score, err := strconv.ParseFloat(entries.Val(), 64) // Unix milliseconds
		if err != nil {
			return nil, script.ReplyError(doing, fmt.Sprintf("%q is no score", fault.Clip(entries.Val())))
		}
		found[member] = int64(score)
	}
	return found, store.Explain(entries.Err(), doing)
}

// copiesOf lists the user's keys among the copies of a dry run.
func (u *Users) copiesOf(ctx context.Context, key string, own userKeys) (found []string, err error) {
	fields := u.client.HScan(ctx, key, 0, "", scanCount).Iterator()
	for fields.Next(ctx) { // field and value in turn
		if k, ok := own.parse(fields.Val()); ok && !k.kind.shared() {
			found = append(found, fields.Val())
		}
		fields.Next(ctx)
	}
	return found, store.Explain(fields.Err(), "looking through the copies of a dry run")
}
