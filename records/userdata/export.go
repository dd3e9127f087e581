package userdata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Users finds all that a store has of one user, to hand it out or to remove it.
// It looks at every key of the server that has the user's partition, so each
// call takes the longer the more messages of whomever there are. It is safe for
// concurrent use.
type Users struct {
	client   redis.UniversalClient
	keys     keyspace.Keys
	timeline *sendlimit.Timeline
	records  *messages.Records
	audit    *audit.Log
	devices  *devices.Store
}

// New returns the users of a Timeline that has the same Options; the policy
// does not matter. The error is an *InvalidError.
func New(client redis.UniversalClient, o sendlimit.Options) (*Users, error) {
	o.Records = true
	t, err := sendlimit.NewTimeline(client, o)
	if err != nil {
		return nil, err
	}
	records, err := messages.NewRecords(client, o.Prefix)
	if err != nil {
		return nil, err
	}
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	log, err := audit.New(client, audit.Options{Prefix: o.Prefix}) // how long it keeps entries does not matter here
	if err != nil {
		return nil, err
	}
	known, err := devices.New(client, devices.Options{Prefix: o.Prefix})
	if err != nil {
		return nil, err
	}
	return &Users{client: client, keys: keys, timeline: t, records: records, audit: log, devices: known}, nil
}

// Data is everything that a store has of a user. What there is none of is
// empty.
type Data struct {
	User string
	// DryRun is the token of the dry run that made these copies, and did not
	// live to remove them; empty for what is real.
	DryRun string

	Places    []keyspace.Reservation // the timeline, ascending by time, then id
	Uncounted []keyspace.Reservation // places that do not count, ascending by time, then id
	Messages  []Message              // in the order of their ids
	Settings  map[string]string
	Devices   []devices.Device       // in the order in which they were added, with their addresses
	Alerted   []AlertedDay           // of quota alerts, ascending
	LateMark  time.Time              // what stands before it in the timeline has ended
	Ended     []keyspace.Reservation // what gave its place back, ascending by time, then id

	DeadLetters []keyspace.Reservation // At is when the message ended
	Watched     []WatchEntry

	Alerts        []Alert              // in the order of their ids
	Outbox        map[string]time.Time // notices not ended, by id: when to look
	FailedNotices map[string]time.Time // by id: when it ended
	Gathered      []GatheredAlert      // what others are to be told of, the oldest first

	Events []events.Event // what became of the messages, by time; without ids

	// Changes are what operators changed about the user, the oldest first. Without the key and
	// the address, which are the operators' own.
	Changes []audit.Entry

	DryRuns []Data // in the order of their tokens; each without a DryRuns of its own
}

// Message is where a message stands, with its history, and its content as long as that is
// kept.
type Message = messages.Stored

// WatchEntry is an entry of the watch list.
type WatchEntry struct {
	ID         string
	Generation string
	At         time.Time // when to look after the message
}

// Empty reports whether the store has nothing of the user.
func (d Data) Empty() bool {
	return len(d.Places)+len(d.Uncounted)+len(d.Messages)+len(d.Settings)+len(d.Devices)+len(d.Alerted)+
		len(d.Ended)+len(d.DeadLetters)+len(d.Watched)+len(d.DryRuns)+
		len(d.Events)+len(d.Changes)+len(d.Alerts)+len(d.Outbox)+len(d.FailedNotices)+len(d.Gathered) == 0 && d.LateMark.IsZero()
}

// Messages lists the ids of all messages of a user that have a record, those
// that ended included, in order.
func (u *Users) Messages(ctx context.Context, user string, progress Progress) ([]string, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return nil, err
	}
	keys, err := u.find(ctx, user, progress)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, k := range keys {
		if k.kind == recordKey && k.run == "" {
			ids = append(ids, k.id())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// id is the id of a record's message.
func (k userKey) id() string { return strings.ReplaceAll(k.name, "/", ":") }

// Export reads everything that the store has of a user. What changes meanwhile
// may be in it as it was before or after.
func (u *Users) Export(ctx context.Context, user string, progress Progress) (Data, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return Data{}, err
	}
	keys, err := u.find(ctx, user, progress)
	if err != nil {
		return Data{}, err
	}
	runs := map[string]*Data{"": {User: user}}
	// Entries of the watch list move from far lists to the near list, which is read last.
	others, near := make([]userKey, 0, len(keys)), []userKey(nil)
	for _, k := range keys {
		if k.kind == watchKey {
			near = append(near, k)
		} else {
			others = append(others, k)
		}
	}
	for _, k := range append(others, near...) {
		if runs[k.run] == nil {
			runs[k.run] = &Data{User: user, DryRun: k.run}
		}
		if err := u.read(ctx, k, runs[k.run]); err != nil {
			return Data{}, err
		}
	}
	if runs[""].Events, err = u.exportEvents(ctx, user, recordsAmong(keys)); err != nil {
		return Data{}, err
	}
	if runs[""].Changes, err = u.changes(ctx, user); err != nil {
		return Data{}, err
	}
	whole := *runs[""]
	delete(runs, "")
	for _, run := range runs {
		run.sort()
		if !run.Empty() {
			whole.DryRuns = append(whole.DryRuns, *run)
		}
	}
	whole.sort()
	return whole, nil
}

// read adds what a key holds of the user.
func (u *Users) read(ctx context.Context, k userKey, into *Data) (err error) {
	const doing = "reading what there is of a user"
	switch k.kind {
	case timelineKey:
		into.Places, err = u.places(ctx, k.key)
	case uncountedKey:
		into.Uncounted, err = u.places(ctx, k.key)
	case recordKey:
		var m Message
		if m, err = u.message(ctx, k, into.User); m.State != messages.StateUnknown {
			into.Messages = append(into.Messages, m)
		}
	case settingsKey:
		into.Settings, err = u.client.HGetAll(ctx, k.key).Result()
	case devicesKey:
		var packed string
		if packed, err = absent(u.client.Get(ctx, k.key).Result()); err == nil {
			into.Devices, err = devices.Decode(packed)
		}
	case flagKey:
		err = u.alertedDay(ctx, k, into)
	case lateMarkKey:
		var text string
		if text, err = absent(u.client.Get(ctx, k.key).Result()); text != "" && err == nil {
			into.LateMark, err = parseTime(text)
		}
	case endedKey:
		into.Ended, err = u.places(ctx, k.key)
	case watchKey, farKey:
		err = u.watched(ctx, k, into)
	case deadLettersKey:
		into.DeadLetters, err = u.deadLetters(ctx, k.key, into.User)
	case noticeKey:
		err = u.alert(ctx, k, into)
	case noticesKey:
		into.Outbox, err = u.entries(ctx, k, into.User)
	case deadNoticesKey:
		into.FailedNotices, err = u.entries(ctx, k, into.User)
	case gatheredKey:
		err = u.gathered(ctx, k, into)
	case categoryKey, waitingKey: // what they have is in the timeline and the records too
	case copiesKey, indexKey, idsKey, campaignsKey: // say only what else there is
	}
	return store.Explain(err, doing)
}

// changes reads what operators changed about a user, the oldest first.
func (u *Users) changes(ctx context.Context, user string) ([]audit.Entry, error) {
	found, err := u.audit.OfUser(ctx, user)
	slices.Reverse(found)
	for i := range found {
		found[i].Key, found[i].Address = "", ""
	}
	return found, err
}

// absent makes an empty text of a key that has expired since it was found.
func absent(text string, err error) (string, error) {
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return text, err
}

func (u *Users) places(ctx context.Context, key string) ([]keyspace.Reservation, error) {
	read, err := u.client.ZRangeWithScores(ctx, key, 0, -1).Result()
	if err != nil {
		return nil, err
	}
	places := make([]keyspace.Reservation, len(read))
	for i, z := range read {
		id, _ := z.Member.(string) // the client gives nothing else
		places[i] = keyspace.Reservation{ID: id, At: time.UnixMilli(int64(z.Score)).UTC()}
	}
	return places, nil
}

func (u *Users) message(ctx context.Context, k userKey, user string) (Message, error) {
	fields := messages.StoredFields()
	values, err := u.client.HMGet(ctx, k.key, fields...).Result()
	if err != nil {
		return Message{}, err
	}
	return messages.StoredOf(user, k.id(), script.ReadFields(fields, values), "reading a message")
}

// sort brings what was found in no order into the order that is documented.
func (d *Data) sort() {
	slices.SortFunc(d.Messages, func(a, b Message) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Watched, func(a, b WatchEntry) int {
		return strings.Compare(a.ID+"/"+a.Generation, b.ID+"/"+b.Generation)
	})
	d.Watched = slices.CompactFunc(d.Watched, func(a, b WatchEntry) bool { return a.ID == b.ID && a.Generation == b.Generation })
	slices.SortFunc(d.DeadLetters, func(a, b keyspace.Reservation) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Alerted, func(a, b AlertedDay) int { return a.Since.Compare(b.Since) })
	slices.SortFunc(d.Alerts, func(a, b Alert) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Gathered, func(a, b GatheredAlert) int {
		return cmp.Or(a.At.Compare(b.At), a.Since.Compare(b.Since), a.Threshold-b.Threshold)
	})
	slices.SortFunc(d.DryRuns, func(a, b Data) int { return strings.Compare(a.DryRun, b.DryRun) })
}

// parseTime reads Unix milliseconds.
func parseTime(text string) (time.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, script.ReplyError("reading a late mark", fmt.Sprintf("%q is no time", fault.Clip(text)))
	}
	return time.UnixMilli(ms).UTC(), nil
}

// parseScore reads the score of a sorted set, Unix milliseconds.
func parseScore(text string) (int64, error) {
	score, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, script.ReplyError("looking through a partition", fmt.Sprintf("%q is no score", fault.Clip(text)))
	}
	return int64(score), nil
}
