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

// userKey is a key that has something of a user.
type userKey struct {
	key  string
	run  string // the token of the dry run whose copy it is; "" for what is real
	kind keyKind
	name string // what follows the user: the id of a record's message
}

// keyKind is what a key holds, as Keys spells it.
type keyKind string

// The keys of a user end with the user, or with a name behind it that has no
// colon; before the user there may be a category, which has none either; the keys of a partition hold something of each of its users.
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

// sharedKeys are the keys that are the partition's: other users are in them, too. Of those that
// are sorted sets, they tell which members are a user's.
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

// shared reports whether other users are in the key, too.
func (k keyKind) shared() bool {
	_, is := sharedKeys[k]
	return is
}

// userKeys knows the keys of one user from all others.
type userKeys struct {
	prefix, user string
	tag          string // ":{p0042}:"
}

func keysOfUser(k keyspace.Keys, user string) userKeys {
	return userKeys{prefix: k.Prefix(), user: user, tag: fmt.Sprintf(":{p%04d}:", keyspace.Partition(user))}
}

// pattern is what SCAN matches the keys of the user's partition by, those of
// dry runs included. There is no user in it: what a name has that a pattern
// reads as its own does not matter.
func (u userKeys) pattern() string { return u.prefix + "*" + u.tag + "*" }

// parse takes a key apart; ok is false where it has nothing of the user for
// certain, because it is another user's or another store's.
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

// named completes a key with what follows the user in it; ok is whether it is the
// user's at all.
func (k userKey) named(owner, user string, ok bool) (userKey, bool) {
	// What follows the last colon is the name: with another colon in it, the key
	// is that of a user whose name goes on.
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

// scanCount is about how many keys or members one call looks at.
const scanCount = 1000

// Progress is told how far a long look through a store is: how many keys were
// looked at, of about how many. It may be nil.
type Progress func(done, total int64)

// find lists the keys of a user, which it checks, by looking at all keys of the server that has
// the user's partition.
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

// serverOf is the server that has a user's partition: of a cluster, one of its
// masters.
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

// members lists what a sorted set of a partition has of the user, with the scores.
func (u *Users) members(ctx context.Context, k userKey, user string) (map[string]int64, error) {
	found := make(map[string]int64)
	var cursor uint64
	for {
		var page []string // member and score in turn
		var err error
		page, cursor, err = u.client.ZScan(ctx, k.key, cursor, "", scanCount).Result()
		if err != nil {
			return nil, store.Explain(err, "looking through a partition")
		}
		for i := 0; i+1 < len(page); i += 2 {
			if !sharedKeys[k.kind](page[i], user) {
				continue
			}
			score, err := strconv.ParseFloat(page[i+1], 64) // Unix milliseconds
			if err != nil {
				return nil, script.ReplyError("looking through a partition", fmt.Sprintf("%q is no score", fault.Clip(page[i+1])))
			}
			found[page[i]] = int64(score)
		}
		if cursor == 0 {
			return found, nil
		}
	}
}

// copiesOf lists the user's keys among the copies that a dry run has made.
func (u *Users) copiesOf(ctx context.Context, key string, own userKeys) ([]string, error) {
	var found []string
	var cursor uint64
	for {
		var page []string // field and value in turn
		var err error
		page, cursor, err = u.client.HScan(ctx, key, cursor, "", scanCount).Result()
		if err != nil {
			return nil, store.Explain(err, "looking through the copies of a dry run")
		}
		for i := 0; i < len(page); i += 2 {
			if k, ok := own.parse(page[i]); ok && !k.kind.shared() {
				found = append(found, page[i])
			}
		}
		if cursor == 0 {
			return found, nil
		}
	}
}
