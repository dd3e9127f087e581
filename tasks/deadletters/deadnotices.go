package deadletters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

type (
	// Notice is an alert or a report that could not be delivered to its contact.
	Notice = message.DeadAlert
	// AlertOutcome is the answer to a request about a failed notice.
	AlertOutcome = message.AlertOutcome
)

func deadNoticeOf(d notices.Dead) Notice {
	return Notice{
		Alert: d.ID, Kind: string(d.Kind), Subject: d.Subject, Since: message.Time{Time: d.Since}, Threshold: d.Threshold,
		Used: d.Used, Limit: d.Limit, Status: message.NoticeFailed, Reason: d.Reason, Attempts: d.Attempts, EndedAt: message.Time{Time: d.EndedAt},
	}
}

// MaxNotices is the largest limit of Notices and PurgeNoticesBefore.
const MaxNotices = notices.MaxDead

// Notices returns failed notices after one, by the time when they ended; the zero value
// begins with the first. It returns at most limit, 1 to MaxNotices; zero means MaxNotices.
// Fewer means that there are no more.
func (d *DeadLetters) Notices(ctx context.Context, after Notice, limit int) ([]Notice, error) {
	list, err := d.notices.ListDead(ctx, notices.Dead{
		Notice: notices.Notice{ID: after.Alert}, EndedAt: after.EndedAt.Time,
	}, limit)
	if err != nil {
		return nil, err
	}
	dead := make([]Notice, len(list))
	for i, notice := range list {
		dead[i] = deadNoticeOf(notice)
	}
	return dead, nil
}

// CountNotices counts the failed notices.
func (d *DeadLetters) CountNotices(ctx context.Context) (int, error) { return d.notices.CountDead(ctx) }

// Notice returns a failed notice. It returns ok false if none has this id.
func (d *DeadLetters) Notice(ctx context.Context, alert string) (dead Notice, ok bool, err error) {
	found, ok, err := d.notices.GetDead(ctx, alert)
	if err != nil || !ok {
		return Notice{}, false, asAlert(err, alert)
	}
	return deadNoticeOf(found), true, nil
}

// RetryNotice delivers a failed notice after all, with all its tries again.
func (d *DeadLetters) RetryNotice(ctx context.Context, alert string) (AlertOutcome, error) {
	again, err := d.notices.RetryDead(ctx, alert, keyspace.NewToken(), time.Time{})
	if err != nil {
		return invalidAlertOr(err, alert)
	}
	if !again {
		return NoDeadNotice(alert), nil
	}
	d.queue.EnqueueNotices(ctx, []string{alert}, d.logger)
	return AlertOutcome{Outcome: message.Retried, Alert: alert}, nil
}

// PurgeNotice removes the content of a failed notice, which is not raised again.
func (d *DeadLetters) PurgeNotice(ctx context.Context, alert string) (AlertOutcome, error) {
	purged, err := d.notices.PurgeDead(ctx, alert, time.Time{})
	if err != nil {
		return invalidAlertOr(err, alert)
	}
	if !purged {
		return NoDeadNotice(alert), nil
	}
	return AlertOutcome{Outcome: message.Purged, Alert: alert}, nil
}

// PurgeNoticesBefore forgets at most limit failed notices that ended before a time, the
// oldest first; a zero time means any time, and a zero limit MaxNotices. It returns how
// many, and whether there may be more.
func (d *DeadLetters) PurgeNoticesBefore(ctx context.Context, before time.Time, limit int) (purged int, more bool, err error) {
	limit = cmp.Or(limit, MaxNotices)
	oldest, err := d.Notices(ctx, Notice{}, limit)
	if err != nil {
		return 0, false, err
	}
	for _, notice := range oldest {
		if !before.IsZero() && !notice.EndedAt.Before(before) {
			return purged, false, nil
		}
		forgotten, err := d.notices.PurgeDead(ctx, notice.Alert, before)
		if err != nil {
			return purged, false, err
		}
		if forgotten {
			purged++
		}
	}
	return purged, len(oldest) == limit, nil
}

// NoDeadNotice returns the outcome for a notice that has not failed.
func NoDeadNotice(alert string) AlertOutcome {
	return AlertOutcome{
		Outcome: message.Refused, Code: fault.CodeNotFound, Alert: alert,
		Detail: fmt.Sprintf("no dead letter of alert %q: list shows the dead letters", alert),
	}
}

// invalidAlertOr returns the outcome of an invalid argument. Other errors stay errors.
func invalidAlertOr(err error, alert string) (AlertOutcome, error) {
	o, err := message.InvalidOr(asAlert(err, alert), "", "")
	return AlertOutcome{Outcome: o.Outcome, Code: o.Code, Field: o.Field, Alert: alert, Detail: o.Detail}, err
}

// asAlert renames the field of an error about a notice's id to alert.
func asAlert(err error, alert string) error {
	if _, invalid := errors.AsType[*fault.InvalidError](err); !invalid {
		return err
	}
	return &fault.InvalidError{Field: "alert", Value: alert, Want: "the id of an alert, as the list of dead letters shows it"}
}
