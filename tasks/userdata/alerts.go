package userdata

import (
	"cmp"
	"slices"

	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/userdata"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

// AlertedDay is a day for which the user's quota has alerted.
type AlertedDay struct {
	Since     message.Time `json:"since"`
	Threshold int          `json:"threshold"` // the highest one, percent
}

// Alert is a quota alert about the user.
type Alert struct {
	Alert      string       `json:"alert"` // its id
	Since      message.Time `json:"since"` // the start of its day
	Threshold  int          `json:"threshold"`
	Used       int64        `json:"used,omitempty"`
	Limit      int64        `json:"limit,omitempty"`
	Status     string       `json:"status"` // waiting, sending, delivered, failed or dropped
	Attempts   int          `json:"attempts,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	ProviderID string       `json:"provider_id,omitempty"`
	LookAt     message.Time `json:"look_at,omitzero"` // when a worker looks after it
	EndedAt    message.Time `json:"ended_at,omitzero"`
}

// GatheredAlert is an alert about the user that goes to somebody else in an hourly digest.
type GatheredAlert struct {
	Policy     string       `json:"policy"`
	Since      message.Time `json:"since"` // the start of the day
	Threshold  int          `json:"threshold"`
	Used       int64        `json:"used"`
	Limit      int64        `json:"limit"`
	GatheredAt message.Time `json:"gathered_at"`
}

func alertedDaysOf(days []userdata.AlertedDay) []AlertedDay {
	var list []AlertedDay
	for _, d := range days {
		list = append(list, AlertedDay{Since: message.Time{Time: d.Since}, Threshold: d.Threshold})
	}
	return list
}

// alertsOf returns the alerts about a user, also those that only have an entry in a list.
func alertsOf(data userdata.Data) []Alert {
	alerts := make(map[string]Alert)
	for id, at := range data.FailedNotices {
		a := userAlertOf(id)
		a.Status, a.EndedAt = message.NoticeFailed, message.Time{Time: at}
		alerts[id] = a
	}
	for _, notice := range data.Alerts {
		a := userAlertOf(notice.ID)
		a.Used, a.Limit, a.Attempts = notice.Used, notice.Limit, notice.Attempts
		a.Status, a.Reason, a.ProviderID = noticeStatus(notice.State), notice.Reason, notice.ProviderID
		a.EndedAt = message.Time{Time: notice.EndedAt}
		alerts[notice.ID] = a
	}
	for id, at := range data.Outbox {
		a, known := alerts[id]
		if !known {
			a = userAlertOf(id)
			a.Status = noticeStatus(userdata.NoticeWaiting)
		}
		a.LookAt = message.Time{Time: at}
		alerts[id] = a
	}
	var list []Alert
	for _, a := range alerts {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b Alert) int {
		return cmp.Or(a.Since.Compare(b.Since.Time), cmp.Compare(a.Threshold, b.Threshold))
	})
	return list
}

// userAlertOf returns what the id of an alert says.
func userAlertOf(id string) Alert {
	n, _ := notices.ParseID(id) // valid: the alert was found by its id
	return Alert{Alert: id, Since: message.Time{Time: n.Since}, Threshold: n.Threshold}
}

func noticeStatus(s userdata.NoticeState) string {
	switch s {
	case userdata.NoticeSending:
		return "sending"
	case userdata.NoticeDelivered:
		return "delivered"
	case userdata.NoticeFailed:
		return message.NoticeFailed
	case userdata.NoticeDropped:
		return "dropped"
	case userdata.NoticeWaiting:
	}
	return "waiting"
}

func gatheredOf(alerts []userdata.GatheredAlert) []GatheredAlert {
	var list []GatheredAlert
	for _, a := range alerts {
		list = append(list, GatheredAlert{
			Policy: a.Policy, Since: message.Time{Time: a.Since}, Threshold: a.Threshold, Used: a.Used, Limit: a.Limit, GatheredAt: message.Time{Time: a.At},
		})
	}
	return list
}
