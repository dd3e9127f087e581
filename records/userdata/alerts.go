package userdata

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// AlertedDay is a day for which a user's quota has alerted: no lower threshold
// and not the same one alerts again.
type AlertedDay struct {
	Since     time.Time // the start of the day
	Threshold int       // the highest, percent
}

// Alert is a notice about a user, and what became of it.
type Alert struct {
	notices.Notice

	State      NoticeState
	Attempts   int
	Reason     string // why it was not delivered, or is tried again
	ProviderID string
	EndedAt    time.Time
}

// NoticeState is how far a notice has come.
type NoticeState string

// The states of a notice, as the store spells them.
const (
	NoticeWaiting   NoticeState = ""
	NoticeSending   NoticeState = "s"
	NoticeDelivered NoticeState = "d"
	NoticeFailed    NoticeState = "f"
	NoticeDropped   NoticeState = "x"
)

// GatheredAlert is what somebody else is going to be told of a user in a digest.
type GatheredAlert struct {
	Policy      string
	Since       time.Time // the start of the day
	Threshold   int
	Used, Limit int64
	At          time.Time // when it was gathered
}

func (u *Users) alertedDay(ctx context.Context, k userKey, into *Data) error {
	threshold, err := u.client.Get(ctx, k.key).Int()
	if errors.Is(err, redis.Nil) {
		return nil // it has expired since it was found
	}
	if err != nil {
		return err
	}
	since, err := parseTime(k.name)
	into.Alerted = append(into.Alerted, AlertedDay{Since: since, Threshold: threshold})
	return err
}

func (u *Users) alert(ctx context.Context, k userKey, into *Data) error {
	const doing = "reading an alert"
	fields := []string{
		keyspace.NoticeKind, keyspace.NoticeState, keyspace.NoticeAttempts, keyspace.NoticeReason, keyspace.NoticeProviderID,
		keyspace.NoticeEndedAt, keyspace.NoticeUsed, keyspace.NoticeLimit, keyspace.NoticeDetails,
	}
	values, err := u.client.HMGet(ctx, k.key, fields...).Result()
	if err != nil {
		return err
	}
	f := script.ReadFields(fields, values)
	notice, _ := notices.ParseID(k.name) // as it was found by its id
	a := Alert{
		Notice: notice, State: NoticeState(f.Text(keyspace.NoticeState)), Attempts: int(f.Int(keyspace.NoticeAttempts)),
		Reason: f.Text(keyspace.NoticeReason), ProviderID: f.Text(keyspace.NoticeProviderID), EndedAt: f.Time(keyspace.NoticeEndedAt),
	}
	a.Used, a.Limit = f.Int(keyspace.NoticeUsed), f.Int(keyspace.NoticeLimit)
	a.Details = []byte(f.Text(keyspace.NoticeDetails))
	if !f.Has(keyspace.NoticeKind) {
		return nil // it has expired since it was found
	}
	into.Alerts = append(into.Alerts, a)
	return f.Err(doing)
}

func (u *Users) gathered(ctx context.Context, k userKey, into *Data) error {
	entries, err := u.entries(ctx, k, into.User)
	for member, at := range entries {
		policy, line, _ := notices.ParseGathered(member) // as it was found to be the user's
		into.Gathered = append(into.Gathered, GatheredAlert{
			Policy: policy, Since: time.UnixMilli(line.Day).UTC(), Threshold: line.Threshold,
			Used: line.Used, Limit: line.Limit, At: at,
		})
	}
	return err
}
