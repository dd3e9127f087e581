package notices

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/records/activity"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Details are the texts of a Notice.
type Details struct {
	Policy   string           `json:"policy,omitempty"`       // of a user's quota
	TimeZone string           `json:"zone,omitempty"`         // of the day; "" for UTC
	Rule     string           `json:"rule,omitempty"`         // of a user's quota; the limit of an event: "500/calendar_day"
	Until    int64            `json:"until,omitempty,string"` // of an event: the end of the period, Unix ms
	Users    []DigestUser     `json:"users,omitempty"`        // of a digest
	More     int              `json:"more,omitempty"`         // of a digest: users that are not listed
	Report   *activity.Counts `json:"report,omitempty"`       // of a daily report
	Change   string           `json:"change,omitempty"`       // of a callback or a key
	Host     string           `json:"host,omitempty"`         // of a callback: its new host
	Key      string           `json:"key,omitempty"`          // the id of a replaced or removed key
	Scopes   []string         `json:"scopes,omitempty"`       // of an added key
}

// DigestUser is a line of a digest.
type DigestUser struct {
	User      string `json:"user"`
	Day       int64  `json:"day"` // its start, Unix ms
	Threshold int    `json:"threshold"`
	Used      int64  `json:"used"`
	Limit     int64  `json:"limit"`
}

// ParseDetails reads the details of a notice. The error is ErrReply.
func (n Notice) ParseDetails() (Details, error) {
	var d Details
	if len(n.Details) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(n.Details, &d); err != nil {
		return d, script.ReplyError("reading a notice", fmt.Sprintf("its details: %v", err))
	}
	return d, nil
}

// MaxDigestUsers is how many users a digest lists: those with the highest thresholds, then the most
// used.
const MaxDigestUsers = 1000

// digestMargin is the wait after an hour before its digest is created, since the clocks of a
// cluster's servers differ.
const digestMargin = time.Minute

// removedTogether is how many gathered entries a command removes.
const removedTogether = 500

// digest is the digest of a policy for an hour.
type digest struct {
	policy  string
	hour    int64 // its start, Unix ms
	users   map[string]DigestUser
	members map[int][]any // by partition
}

// DigestsUntil returns the end of the last hour whose digests can be created at now.
func DigestsUntil(now time.Time) time.Time { return now.Add(-digestMargin).Truncate(time.Hour) }

// Digest puts the hourly digests of entries gathered before until, see DigestsUntil, and returns
// their ids. Each is put once, however many processes call it. Then it removes the entries; if the
// process dies in between, the next call does.
func (n *Outbox) Digest(ctx context.Context, until time.Time) ([]string, error) {
	digests, err := n.gathered(ctx, until.Truncate(time.Hour))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, d := range digests {
		details, err := json.Marshal(d.details())
		if err != nil {
			return ids, script.ReplyError("making a digest", err.Error())
		}
		id := FormatID(UserQuotaDigest, time.UnixMilli(d.hour), 0, d.policy)
		put, err := n.Put(ctx, Notice{ID: id, Details: details}, time.Time{})
		if err != nil {
			return ids, err
		}
		if put {
			ids = append(ids, id)
		}
		if err := n.removeGathered(ctx, d.members); err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// gathered reads entries gathered before a time, by policy and hour, oldest hour first.
func (n *Outbox) gathered(ctx context.Context, until time.Time) ([]*digest, error) {
	type name struct {
		policy string
		hour   int64
	}
	found := make(map[name]*digest)
	span := redis.ZRangeArgs{Start: "-inf", Stop: "(" + strconv.FormatInt(until.UnixMilli(), 10), ByScore: true}
	err := script.EachPartition(ctx, n.client, "reading what is to be told together", n.keys.Gathered, span, func(p int, entry redis.Z) {
		member, _ := entry.Member.(string)
		policy, user, ok := ParseGathered(member)
		if !ok {
			return // perhaps of a newer program
		}
		hour := time.UnixMilli(int64(entry.Score)).Truncate(time.Hour).UnixMilli()
		d := found[name{policy, hour}]
		if d == nil {
			d = &digest{policy: policy, hour: hour, users: make(map[string]DigestUser), members: make(map[int][]any)}
			found[name{policy, hour}] = d
		}
		d.add(user)
		d.members[p] = append(d.members[p], member)
	})
	if err != nil {
		return nil, err
	}
	digests := make([]*digest, 0, len(found))
	for _, d := range found {
		digests = append(digests, d)
	}
	slices.SortFunc(digests, func(a, b *digest) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.policy, b.policy))
	})
	return digests, nil
}

// add adds a user, once a day, with the highest threshold.
func (d *digest) add(user DigestUser) {
	line := strconv.FormatInt(user.Day, 10) + "/" + user.User
	if known, ok := d.users[line]; !ok || known.Threshold < user.Threshold {
		d.users[line] = user
	}
}

// details lists the users, highest thresholds first, then most used first.
func (d *digest) details() Details {
	users := make([]DigestUser, 0, len(d.users))
	for _, user := range d.users {
		users = append(users, user)
	}
	slices.SortFunc(users, func(a, b DigestUser) int {
		return cmp.Or(cmp.Compare(b.Threshold, a.Threshold), cmp.Compare(b.Used, a.Used),
			cmp.Compare(a.User, b.User), cmp.Compare(a.Day, b.Day))
	})
	listed := min(len(users), MaxDigestUsers)
	return Details{Policy: d.policy, Users: users[:listed], More: len(users) - listed}
}

func (n *Outbox) removeGathered(ctx context.Context, members map[int][]any) error {
	_, err := n.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p, of := range members {
			for some := range slices.Chunk(of, removedTogether) {
				pipe.ZRem(ctx, n.keys.Gathered(p), some...)
			}
		}
		return nil
	})
	return store.Explain(err, "removing what is told in a digest")
}

// ParseGathered reads a gathered entry: start of the day, Unix ms, threshold, used, limit, policy
// and user. Only the user may contain a slash.
func ParseGathered(member string) (policy string, user DigestUser, ok bool) {
	parts := strings.SplitN(member, "/", 6)
	if len(parts) != 6 || !keyspace.ValidName(parts[4]) || !keyspace.ValidUser(parts[5]) {
		return "", DigestUser{}, false
	}
	var numbers [4]int64
	for i := range numbers {
		var err error
		if numbers[i], err = strconv.ParseInt(parts[i], 10, 64); err != nil {
			return "", DigestUser{}, false
		}
	}
	return parts[4], DigestUser{
		User: parts[5], Day: numbers[0], Threshold: int(numbers[1]), Used: numbers[2], Limit: numbers[3],
	}, true
}
