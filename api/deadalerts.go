package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/deadletters"
)

const (
	deadAlertsPath   = "/v1/dead-alerts"
	deadAlertPattern = deadAlertsPath + "/{alert}"
)

func (s *server) deadAlertRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listDeadAlerts", http.MethodGet, deadAlertsPath, "dead letters",
				"List alerts and reports that could not be delivered",
				"Oldest first. Their contacts did not accept them within alert_retry_for."),
			scope: accounts.ScopeAdmin, says: "A page of dead alerts.",
		}, s.listDeadAlerts),
		operation(s, route{
			Operation: named("getDeadAlert", http.MethodGet, deadAlertPattern, "dead letters",
				"Get an alert or report that could not be delivered",
				""),
			scope: accounts.ScopeAdmin, says: "The alert.", refuses: []int{http.StatusNotFound},
		}, s.showDeadAlert),
		operation(s, route{
			Operation: named("retryDeadAlert", http.MethodPost, deadAlertPattern+"/retry", "dead letters",
				"Retry an alert or report that could not be delivered",
				"It is tried again for alert_retry_for."),
			scope: accounts.ScopeAdmin, says: "Retried.", refuses: []int{http.StatusNotFound},
		}, s.retryDeadAlert),
		operation(s, route{
			Operation: named("purgeDeadAlert", http.MethodDelete, deadAlertPattern, "dead letters",
				"Remove an alert or report that could not be delivered",
				"Removes its content. The alert is not raised again."),
			scope: accounts.ScopeAdmin, says: "Purged.", refuses: []int{http.StatusNotFound},
		}, s.purgeDeadAlert),
		operation(s, route{
			Operation: named("purgeDeadAlerts", http.MethodDelete, deadAlertsPath, "dead letters",
				"Remove old alerts and reports that could not be delivered",
				"Removes their content, oldest first. The alerts are not raised again. "+purgesAgain),
			scope: accounts.ScopeAdmin, says: "Removed.",
		}, s.purgeOlder(s.DeadLetters.PurgeNoticesBefore)),
	}
}

type ofAlert struct {
	Alert string `path:"alert"`
}

type alertPage struct {
	Limit  int             `query:"limit" usual:"100" most:"1000" doc:"Dead alerts a page."`
	Cursor web.AlertCursor `query:"cursor"`
}

func (s *server) listDeadAlerts(ctx context.Context, in alertPage) (page message.DeadAlerts, err error) {
	after := message.DeadAlert{Alert: in.Cursor.Alert, EndedAt: message.Time{Time: in.Cursor.Time()}}
	page.DeadAlerts, err = s.DeadLetters.Notices(ctx, after, in.Limit)
	if len(page.DeadAlerts) == in.Limit {
		last := page.DeadAlerts[in.Limit-1]
		page.NextCursor = s.sealed(ctx, web.AlertCursor{Milliseconds: last.EndedAt.UnixMilli(), Alert: last.Alert}.String())
	}
	return page, err
}

func (s *server) showDeadAlert(ctx context.Context, in ofAlert) (message.DeadAlert, error) {
	alert, known, err := s.DeadLetters.Notice(ctx, in.Alert)
	if err == nil && !known {
		_, err = alertDone(deadletters.NoDeadNotice(in.Alert), nil)
	}
	return alert, err
}

func (s *server) retryDeadAlert(ctx context.Context, in ofAlert) (message.AlertDone, error) {
	return alertDone(s.DeadLetters.RetryNotice(ctx, in.Alert))
}

func (s *server) purgeDeadAlert(ctx context.Context, in ofAlert) (message.AlertDone, error) {
	return alertDone(s.DeadLetters.PurgeNotice(ctx, in.Alert))
}

// alertDone returns the outcome of a change of an alert, or its error.
func alertDone(o message.AlertOutcome, err error) (message.AlertDone, error) {
	if err == nil && o.Code != "" {
		refused := message.Outcome{Outcome: o.Outcome, Code: o.Code, Field: o.Field, Detail: o.Detail}
		if o.Code == fault.CodeNotFound {
			refused.Field = "alert"
		}
		err = &refusal{refused}
	}
	return message.AlertDone{Outcome: o.Outcome, Alert: o.Alert}, err
}
