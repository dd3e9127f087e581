package userdata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/device"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// Export reads all data of a user. Data that changes meanwhile may be old or new.
func (u *Users) Export(ctx context.Context, user string, progress Progress) (Document, error) {
	keys, err := u.find(ctx, user, progress)
	if err != nil {
		return Document{}, err
	}
	whole := newDocument(user, "")
	runs := map[string]*Document{"": whole}
	// Entries of the watch list move from far lists to the near list, which is read last.
	for _, near := range []bool{false, true} {
		for _, k := range keys {
			if runs[k.run] == nil {
				runs[k.run] = newDocument(user, k.run)
			}
			if near != (k.kind == watchKey) {
				continue
			}
			if err := u.read(ctx, k, runs[k.run]); err != nil {
				return Document{}, store.Explain(err, "reading the data of a user")
			}
		}
	}
	if whole.Events, err = u.exportEvents(ctx, user, recordsAmong(keys)); err != nil {
		return Document{}, err
	}
	if whole.Changes, err = u.changes(ctx, user); err != nil {
		return Document{}, err
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		runs[run].sort()
		if run != "" && !runs[run].Empty() {
			whole.DryRuns = append(whole.DryRuns, *runs[run])
		}
	}
	found, err := u.queue.TasksOf(user).List(ctx)
	for _, task := range found {
		whole.Tasks = append(whole.Tasks, TaskEntry{
			ID: task.Message, Generation: task.ID, State: task.State, Due: message.Time{Time: task.Due},
		})
	}
	return *whole, err
}

// read adds the user's data of a key, which may have expired since it was found.
func (u *Users) read(ctx context.Context, k userKey, into *Document) (err error) {
	switch k.kind {
	case timelineKey:
		into.Timeline, err = u.places(ctx, k.key)
	case uncountedKey:
		into.Uncounted, err = u.places(ctx, k.key)
	case endedKey:
		into.Ended, err = u.places(ctx, k.key)
	case recordKey:
		return u.readMessage(ctx, k, into)
	case settingsKey:
		into.Settings, err = u.client.HGetAll(ctx, k.key).Result()
	case devicesKey, flagKey, lateMarkKey:
		text, err := u.client.Get(ctx, k.key).Result()
		if errors.Is(err, redis.Nil) || text == "" && err == nil {
			return nil
		}
		if err != nil {
			return err
		}
		return readText(k, text, into)
	case noticeKey:
		return u.readAlert(ctx, k, into)
	case watchKey, farKey, deadLettersKey, noticesKey, deadNoticesKey, gatheredKey:
		members, err := u.members(ctx, k, into.User)
		for member, at := range members {
			into.add(k.kind, member, message.Time{Time: time.UnixMilli(at).UTC()})
		}
		return err
	case categoryKey, waitingKey: // the timeline and the records have the same
	case copiesKey, indexKey, idsKey, campaignsKey: // they only name other data
	}
	return err
}

// readText adds the text of a key.
func readText(k userKey, text string, into *Document) (err error) {
	switch k.kind { //nolint:exhaustive // the others hold no text
	case devicesKey:
		found, err := devices.Decode(text)
		for _, d := range found {
			into.Devices = append(into.Devices, device.Shown(d, true))
		}
		return err
	case lateMarkKey:
		into.LateMark, err = parseTime(text)
	case flagKey:
		day := AlertedDay{}
		if day.Threshold, err = strconv.Atoi(text); err != nil {
			return script.ReplyError("reading an alert's flag", fmt.Sprintf("%q is no threshold", fault.Clip(text)))
		}
		day.Since, err = parseTime(k.name)
		into.Alerted = append(into.Alerted, day)
	}
	return err
}

// add adds a member of a shared sorted set. A watch entry that moves to another list
// meanwhile may be added twice, see Document.sort.
func (d *Document) add(kind keyKind, member string, at message.Time) { // the members are known to be valid
	switch kind { //nolint:exhaustive // the others have no members that are exported
	case watchKey, farKey:
		_, id, generation, _ := keyspace.ParseWatchMember(member)
		d.WatchList = append(d.WatchList, WatchEntry{ID: id, Generation: generation, LookAt: at})
	case deadLettersKey:
		_, id, _ := keyspace.ParseDeadLetterMember(member)
		d.Dead = append(d.Dead, DeadEntry{ID: id, EndedAt: at})
	case noticesKey:
		d.alert(member).LookAt = at
	case deadNoticesKey:
		if a := d.alert(member); a.Status == "" {
			a.Status, a.EndedAt = message.NoticeFailed, at
		}
	case gatheredKey:
		policy, line, _ := notices.ParseGathered(member)
		d.Gathered = append(d.Gathered, GatheredAlert{
			Policy: policy, Since: message.Time{Time: time.UnixMilli(line.Day).UTC()}, Threshold: line.Threshold,
			Used: line.Used, Limit: line.Limit, GatheredAt: at,
		})
	}
}

func (u *Users) places(ctx context.Context, key string) ([]message.Conflict, error) {
	read, err := u.client.ZRangeWithScores(ctx, key, 0, -1).Result()
	places := make([]message.Conflict, len(read))
	for i, z := range read {
		id, _ := z.Member.(string) // the client gives nothing else
		places[i] = message.Conflict{ID: id, SendAt: message.Time{Time: time.UnixMilli(int64(z.Score)).UTC()}}
	}
	return places, err
}

// readMessage adds a message with its content.
func (u *Users) readMessage(ctx context.Context, k userKey, into *Document) error {
	fields := messages.StoredFields()
	values, err := u.client.HMGet(ctx, k.key, fields...).Result()
	if err != nil {
		return err
	}
	stored, err := messages.StoredOf(into.User, k.id(), script.ReadFields(fields, values), "reading a message")
	if err != nil || stored.State == messages.StateUnknown {
		return err
	}
	status := submit.StatusOf(stored.Info)
	if len(stored.Content) > 0 {
		status.Content, err = message.DecodeContent(stored.Content)
	}
	into.Messages = append(into.Messages, status)
	return err
}

// alert returns the alert with an id, which it adds if needed: an alert may have a record, an
// entry in a list, or both. An alert without a record has the status of the list.
func (d *Document) alert(id string) *Alert {
	i := slices.IndexFunc(d.Alerts, func(a Alert) bool { return a.Alert == id })
	if i < 0 {
		n, _ := notices.ParseID(id) // valid: the alert was found by its id
		i, d.Alerts = len(d.Alerts), append(d.Alerts, Alert{Alert: id, Since: message.Time{Time: n.Since}, Threshold: n.Threshold})
	}
	return &d.Alerts[i]
}

// readAlert adds the record of an alert.
func (u *Users) readAlert(ctx context.Context, k userKey, into *Document) error {
	fields := []string{
		keyspace.NoticeKind, keyspace.NoticeState, keyspace.NoticeAttempts, keyspace.NoticeReason, keyspace.NoticeProviderID,
		keyspace.NoticeEndedAt, keyspace.NoticeUsed, keyspace.NoticeLimit,
	}
	values, err := u.client.HMGet(ctx, k.key, fields...).Result()
	if err != nil {
		return err
	}
	f := script.ReadFields(fields, values)
	if !f.Has(keyspace.NoticeKind) {
		return nil // it has expired since it was found
	}
	a := into.alert(k.name)
	a.Used, a.Limit, a.Attempts = f.Int(keyspace.NoticeUsed), f.Int(keyspace.NoticeLimit), int(f.Int(keyspace.NoticeAttempts))
	a.Status, a.Reason, a.ProviderID = noticeStatus(f.Text(keyspace.NoticeState)), f.Text(keyspace.NoticeReason), f.Text(keyspace.NoticeProviderID)
	a.EndedAt = message.Time{Time: f.Time(keyspace.NoticeEndedAt)}
	return f.Err("reading an alert")
}

// noticeStatus returns the word for the state of a notice as the store spells it.
func noticeStatus(state string) string {
	switch state {
	case "s":
		return "sending"
	case "d":
		return "delivered"
	case "f":
		return message.NoticeFailed
	case "x":
		return "dropped"
	default:
		return "waiting"
	}
}

// changes reads the changes of operators about a user, the oldest first.
func (u *Users) changes(ctx context.Context, user string) ([]Change, error) {
	found, err := u.audit.OfUser(ctx, user)
	var all []Change
	for _, e := range slices.Backward(found) {
		all = append(all, Change{
			At: message.Time{Time: e.At}, Account: e.Account, Action: e.Action, ID: e.Message, Object: e.Object, Detail: e.Detail,
			Outcome: e.Outcome, Code: e.Code, Answer: e.Answer, EndedAt: message.Time{Time: e.EndedAt},
		})
	}
	return all, err
}

// sort sorts the lists into their documented order.
func (d *Document) sort() {
	slices.SortFunc(d.Messages, func(a, b message.Status) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.WatchList, func(a, b WatchEntry) int {
		return strings.Compare(a.ID+"/"+a.Generation, b.ID+"/"+b.Generation)
	})
	d.WatchList = slices.CompactFunc(d.WatchList, func(a, b WatchEntry) bool { return a.ID == b.ID && a.Generation == b.Generation })
	slices.SortFunc(d.Dead, func(a, b DeadEntry) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Alerted, func(a, b AlertedDay) int { return a.Since.Compare(b.Since.Time) })
	for i := range d.Alerts {
		d.Alerts[i].Status = cmp.Or(d.Alerts[i].Status, noticeStatus(""))
	}
	slices.SortFunc(d.Alerts, func(a, b Alert) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), cmp.Compare(a.Threshold, b.Threshold), strings.Compare(a.Alert, b.Alert))
	})
	slices.SortFunc(d.Gathered, func(a, b GatheredAlert) int {
		return cmp.Or(a.GatheredAt.Compare(b.GatheredAt.Time), a.Since.Compare(b.Since.Time), a.Threshold-b.Threshold)
	})
}

// parseTime reads Unix milliseconds.
func parseTime(text string) (message.Time, error) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return message.Time{}, script.ReplyError("reading a late mark", fmt.Sprintf("%q is no time", fault.Clip(text)))
	}
	return message.Time{Time: time.UnixMilli(ms).UTC()}, nil
}
