package deadletters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// Notice is an alert or a report that could not be delivered to its contact.
type Notice struct {
	Alert     string       `json:"alert"` // its id
	Kind      string       `json:"kind"`
	Subject   string       `json:"subject"` // the user, the account, or the policy
	Since     message.Time `json:"since"`   // the start of its day; for a digest, of its hour
	Threshold int          `json:"threshold,omitempty"`
	Used      int64        `json:"used,omitempty"`
	Limit     int64        `json:"limit,omitempty"`
	Status    string       `json:"status"`
	Reason    string       `json:"reason"`
	Attempts  int          `json:"attempts"`
	EndedAt   message.Time `json:"ended_at"`
}

func deadNoticeOf(d notices.Dead) Notice {
	return Notice{
		Alert: d.ID, Kind: string(d.Kind), Subject: d.Subject, Since: message.Time{Time: d.Since}, Threshold: d.Threshold,
		Used: d.Used, Limit: d.Limit, Status: message.NoticeFailed, Reason: d.Reason, Attempts: d.Attempts, EndedAt: message.Time{Time: d.EndedAt},
	}
}

// AlertOutcome is the answer to a request about a failed notice, see message.Outcome.
type AlertOutcome struct {
	Outcome string     `json:"outcome"`
	Code    fault.Code `json:"code,omitempty"`
	Field   string     `json:"field,omitempty"`
	Alert   string     `json:"alert"`
	Detail  string     `json:"detail,omitempty"`
}

// Notices returns failed notices after one, ascending by when they ended; the zero value
// begins with the first. It returns notices.MaxDead, or fewer if there are no more.
func (d *Letters) Notices(ctx context.Context, after Notice) ([]Notice, error) {
	list, err := d.notices.ListDead(ctx, notices.Dead{
		Notice: notices.Notice{ID: after.Alert}, EndedAt: after.EndedAt.Time,
	}, notices.MaxDead)
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
func (d *Letters) CountNotices(ctx context.Context) (int, error) { return d.notices.CountDead(ctx) }

// Notice returns a failed notice. It returns ok false if none has this id.
func (d *Letters) Notice(ctx context.Context, alert string) (dead Notice, ok bool, err error) {
	found, ok, err := d.notices.GetDead(ctx, alert)
	if err != nil || !ok {
		return Notice{}, false, asAlert(err, alert)
	}
	return deadNoticeOf(found), true, nil
}

// RetryNotice delivers a failed notice after all, with all its tries again.
func (d *Letters) RetryNotice(ctx context.Context, alert string) (AlertOutcome, error) {
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

// PurgeNotice forgets the content of a failed notice, which is not raised again.
func (d *Letters) PurgeNotice(ctx context.Context, alert string) (AlertOutcome, error) {
	purged, err := d.notices.PurgeDead(ctx, alert, time.Time{})
	if err != nil {
		return invalidAlertOr(err, alert)
	}
	if !purged {
		return NoDeadNotice(alert), nil
	}
	return AlertOutcome{Outcome: message.Purged, Alert: alert}, nil
}

// PurgeNoticesBefore forgets the failed notices that ended before a time, zero for any
// time, and returns how many.
func (d *Letters) PurgeNoticesBefore(ctx context.Context, before time.Time) (int, error) {
	purged := 0
	for after := (Notice{}); ; {
		page, err := d.Notices(ctx, after)
		if err != nil {
			return purged, err
		}
		for _, notice := range page {
			forgotten, err := d.notices.PurgeDead(ctx, notice.Alert, before)
			if err != nil {
				return purged, err
			}
			if forgotten {
				purged++
			}
			after = notice
		}
		if len(page) < notices.MaxDead || !before.IsZero() && !after.EndedAt.Before(before) {
			return purged, nil
		}
	}
}

// NoDeadNotice returns the outcome for a notice that has not failed.
func NoDeadNotice(alert string) AlertOutcome {
	return AlertOutcome{
		Outcome: message.Refused, Code: fault.CodeNotFound, Alert: alert,
		Detail: fmt.Sprintf("alert %s is no dead letter: list shows those there are", alert),
	}
}

// invalidAlertOr returns the outcome of an invalid argument. Other errors stay errors.
func invalidAlertOr(err error, alert string) (AlertOutcome, error) {
	o, err := message.InvalidOr(asAlert(err, alert), "", "")
	return AlertOutcome{Outcome: o.Outcome, Code: o.Code, Field: o.Field, Alert: alert, Detail: o.Detail}, err
}

// asAlert makes an error about a notice's id name an alert, as callers do.
func asAlert(err error, alert string) error {
	if _, invalid := errors.AsType[*fault.InvalidError](err); !invalid {
		return err
	}
	return &fault.InvalidError{Field: "alert", Value: alert, Want: "the id of an alert, as the list of dead letters shows it"}
}
