package notices

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Kind is the kind of a notice.
type Kind string

// The kinds of notices, as package notifier spells them.
const (
	AccountQuota    Kind = "account_quota"     // an account's daily quota reached a threshold
	UserQuota       Kind = "user_quota"        // a user's daily rule reached a threshold
	UserQuotaDigest Kind = "user_quota_digest" // users of a policy whose daily rule reached a threshold
	DailyReport     Kind = "daily_report"      // the messages of an account's day
	EventLimit      Kind = "event_limit"       // a key reached a threshold of an event's limit
	CallbackChanged Kind = "callback_changed"  // the callback of an account was changed
	KeysChanged     Kind = "keys_changed"      // a key of an account was made, replaced or removed
)

// alerts reports whether notices of the kind have a threshold.
func (k Kind) alerts() bool { return k == AccountQuota || k == UserQuota || k == EventLimit }

// Notice is a message to a contact: an alert about a quota, a digest, a report or a change.
type Notice struct {
	// ID identifies the notice, see FormatID. Kind, Subject, Threshold and Since follow from it.
	ID      string
	Kind    Kind
	Subject string    // a user, an account, the policy of a digest, or an event and its key: "submit/acme"
	Since   time.Time // start of its day; of the hour for a digest, of the period for an event; the time of a change

	Threshold int // percent; zero for a digest and a report
	// Raised is the quota of an alert after the quota of its day was raised, and the limit of any
	// alert of an event; zero otherwise. It follows from the ID.
	Raised int64
	// Used and Limit count messages of the day, or calls of an event; zero for a digest and a
	// report.
	Used, Limit int64
	// Details is the JSON of a Details.
	Details []byte
}

// FormatID returns the id of a notice: kind, time and, for alerts, the threshold. The subject comes
// last, since only it may contain a slash. An alert after the quota was raised has the quota after
// the threshold, "80@500", and any alert of an event has its limit there; the scripts write these.
func FormatID(kind Kind, since time.Time, threshold int, subject string) string {
	id := string(kind) + "/" + strconv.FormatInt(since.UnixMilli(), 10) + "/"
	if kind.alerts() {
		id += strconv.Itoa(threshold) + "/"
	}
	return id + subject
}

// EventKey returns the event and the key of an EventLimit; ok is false for any other notice.
func (n Notice) EventKey() (event, key string, ok bool) {
	event, key, ok = strings.Cut(n.Subject, "/")
	return event, key, ok && n.Kind == EventLimit && keyspace.ValidName(event) && keyspace.ValidKey(key)
}

// validSubject reports whether the subject fits the kind.
func (n Notice) validSubject() bool {
	if n.Kind == EventLimit {
		_, _, ok := n.EventKey()
		return ok && n.Raised > 0
	}
	return keyspace.ValidUser(n.Subject)
}

// Owner returns the name whose partition has the notice: its subject, or its event, whose counters
// are there.
func (n Notice) Owner() string {
	if event, _, ok := n.EventKey(); ok {
		return event
	}
	return n.Subject
}

// ParseID reads a notice id; ok is false if it is not valid. The Notice has only what follows from
// the id.
func ParseID(id string) (n Notice, ok bool) {
	kind, rest, _ := strings.Cut(id, "/")
	n = Notice{ID: id, Kind: Kind(kind)}
	switch n.Kind {
	case AccountQuota, UserQuota, UserQuotaDigest, DailyReport, EventLimit, CallbackChanged, KeysChanged:
	default:
		return Notice{}, false
	}
	start, rest, _ := strings.Cut(rest, "/")
	ms, err := strconv.ParseInt(start, 10, 64)
	if err != nil {
		return Notice{}, false
	}
	n.Since = time.UnixMilli(ms).UTC()
	if n.Kind.alerts() {
		var threshold string
		threshold, rest, _ = strings.Cut(rest, "/")
		threshold, raised, anew := strings.Cut(threshold, "@")
		if n.Threshold, err = strconv.Atoi(threshold); err != nil || n.Threshold < 1 || n.Threshold > 100 {
			return Notice{}, false
		}
		if n.Raised, err = strconv.ParseInt(raised, 10, 64); anew && (err != nil || n.Raised < 0) {
			return Notice{}, false
		}
		if anew {
			id = strings.Replace(id, "@"+strconv.FormatInt(n.Raised, 10), "", 1)
		}
	}
	n.Subject = rest
	return n, n.validSubject() && FormatID(n.Kind, n.Since, n.Threshold, rest) == id
}

// Outbox has the notices to contacts. A notice is put once, has one delivery at a time, and stays
// until that is settled. Scripts that count put alerts into it. Any number of processes may use it
// concurrently.
//
// Each notice is announced once. If a process dies between the mail server's answer and Settle, it
// is announced again, under the same id.
type Outbox struct {
	client  redis.UniversalClient
	keys    keyspace.Keys
	options Options // with defaults
}

// New returns the outbox of a store. The error is an *InvalidError.
func New(client redis.UniversalClient, o Options) (*Outbox, error) {
	o = o.withDefaults()
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.Keep = max(o.Keep, MinKeep)
	return &Outbox{client: client, keys: keys, options: o}, nil
}

// Kept returns how long the outbox keeps an ended notice, and how long a notice waits that can't be
// delivered.
func (n *Outbox) Kept() time.Duration { return n.options.Keep }

// Put puts a digest, a report or a change into the outbox. It reports whether the id is new: a
// notice that the outbox still has is not put again. A zero now means the server's clock.
func (n *Outbox) Put(ctx context.Context, notice Notice, now time.Time) (bool, error) {
	const doing = "putting a notice into the outbox"
	parsed, err := parseNotice(notice.ID)
	if err != nil {
		return false, err
	}
	keys := n.keysOf(parsed)
	return script.Yes(script.Call(ctx, n.client, lua.NoticePut, doing, keys[:2], []any{
		script.Milliseconds(now), parsed.ID, string(parsed.Kind), parsed.Subject, parsed.Since.UnixMilli(), notice.Details,
	}))
}

// PutChange puts an alert about a change of an account into the outbox, dated by the server's clock.
// Call it before the change: then there is no change without an alert.
func (n *Outbox) PutChange(ctx context.Context, kind Kind, account string, d Details) error {
	now, err := n.client.Time(ctx).Result()
	if err != nil {
		return store.Explain(err, "reading the store's clock")
	}
	details, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("alerting an account of a change: %w", err)
	}
	for put := false; !put && err == nil; now = now.Add(time.Millisecond) { // each of the same millisecond
		put, err = n.Put(ctx, Notice{ID: FormatID(kind, now, 0, account), Details: details}, time.Time{})
	}
	return err
}

// keysOf returns the keys of the notice, the outbox and the failed notices.
func (n *Outbox) keysOf(notice Notice) []string {
	p := keyspace.Partition(notice.Owner())
	return []string{n.keys.Notice(notice.Owner(), notice.ID), n.keys.Notices(p), n.keys.DeadNotices(p)}
}

func parseNotice(id string) (Notice, error) {
	n, ok := ParseID(id)
	if !ok {
		return Notice{}, &fault.InvalidError{Field: "notice", Value: id, Want: "the id of a notice"}
	}
	return n, nil
}
