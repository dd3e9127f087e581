package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

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

func alertParameter() *huma.Param {
	return &huma.Param{
		Name: "alert", In: "path", Required: true, Example: "account_quota/1795305600000/80/acme",
		Description: "The alert's id, as the list has it. Its slashes are written %2F.",
		Schema:      &huma.Schema{Type: huma.TypeString, Pattern: whole("[a-z_]+/" + userPattern)},
	}
}

func (s *server) listDeadAlertsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listDeadAlerts", Method: http.MethodGet, Path: deadAlertsPath, Tags: []string{"dead letters"},
			Summary:     "List alerts and reports that could not be delivered",
			Description: "The oldest first. A contact did not accept them for as long as alert_retry_for says.",
			Parameters:  []*huma.Param{countParameter("limit", "Dead alerts a page.", usualPage, deadletters.MaxNotices), cursorParameter()},
			Responses:   responses[message.DeadAlerts](s, "A page of them."),
		},
		scope: accounts.ScopeAdmin, do: s.listDeadAlerts,
	}
}

func (s *server) listDeadAlerts(r *http.Request, q web.Query) (web.Answer, error) {
	limit, err := q.Count("limit", usualPage, deadletters.MaxNotices)
	if err != nil {
		return web.Answer{}, err
	}
	ended, alert, err := q.AlertCursor()
	if err != nil {
		return web.Answer{}, err
	}
	list, err := s.deadLetters.Notices(r.Context(), message.DeadAlert{Alert: alert, EndedAt: message.Time{Time: ended}}, limit)
	if err != nil {
		return web.Answer{}, err
	}
	page := message.DeadAlerts{DeadAlerts: list}
	if len(list) == limit {
		last := list[limit-1]
		page.NextCursor = s.sealed(r.Context(), web.AlertCursor(last.EndedAt.Time, last.Alert))
	}
	return web.Done(page), nil
}

func (s *server) showDeadAlertRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getDeadAlert", Method: http.MethodGet, Path: deadAlertPattern, Tags: []string{"dead letters"},
			Summary:    "Get an alert or report that could not be delivered",
			Parameters: []*huma.Param{alertParameter()},
			Responses:  responses[message.DeadAlert](s, "The alert.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.showDeadAlert,
	}
}

func (s *server) showDeadAlert(r *http.Request, _ web.Query) (web.Answer, error) {
	id := r.PathValue("alert")
	alert, known, err := s.deadLetters.Notice(r.Context(), id)
	if err == nil && !known {
		return alertDone(deadletters.NoDeadNotice(id), nil)
	}
	return done(alert, err)
}

func (s *server) retryDeadAlertRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "retryDeadAlert", Method: http.MethodPost, Path: deadAlertPattern + "/retry", Tags: []string{"dead letters"},
			Summary:     "Deliver an alert or report after all",
			Description: "It is tried again for as long as alert_retry_for says.",
			Parameters:  []*huma.Param{alertParameter()},
			Responses:   responses[message.AlertDone](s, "Retried.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.retryDeadAlert,
	}
}

func (s *server) retryDeadAlert(r *http.Request, _ web.Query) (web.Answer, error) {
	return alertDone(s.deadLetters.RetryNotice(r.Context(), r.PathValue("alert")))
}

func (s *server) purgeDeadAlertRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "purgeDeadAlert", Method: http.MethodDelete, Path: deadAlertPattern, Tags: []string{"dead letters"},
			Summary:     "Remove an alert or report that could not be delivered",
			Description: "Removes its content. It is not raised again.",
			Parameters:  []*huma.Param{alertParameter()},
			Responses:   responses[message.AlertDone](s, "Purged.", http.StatusNotFound),
		},
		scope: accounts.ScopeAdmin, do: s.purgeDeadAlert,
	}
}

func (s *server) purgeDeadAlert(r *http.Request, _ web.Query) (web.Answer, error) {
	return alertDone(s.deadLetters.PurgeNotice(r.Context(), r.PathValue("alert")))
}

func (s *server) purgeDeadAlertsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "purgeDeadAlerts", Method: http.MethodDelete, Path: deadAlertsPath, Tags: []string{"dead letters"},
			Summary:     "Remove old alerts and reports that could not be delivered",
			Description: "Removes their content, the oldest first. They are not raised again. " + purgesAgain,
			Parameters:  purgeParameters(deadletters.MaxNotices),
			Responses:   responses[message.DeadPurge](s, "Removed."),
		},
		scope: accounts.ScopeAdmin, do: s.purgeDeadAlerts,
	}
}

func (s *server) purgeDeadAlerts(r *http.Request, q web.Query) (web.Answer, error) {
	return s.purgeOlder(r, q, deadletters.MaxNotices, s.deadLetters.PurgeNoticesBefore)
}

// alertDone returns the answer with an outcome of an alert, or the error that stands for it.
func alertDone(o message.AlertOutcome, err error) (web.Answer, error) {
	if err == nil && o.Code != "" {
		refused := message.Outcome{Outcome: o.Outcome, Code: o.Code, Field: o.Field, Detail: o.Detail}
		if o.Code == fault.CodeNotFound {
			refused.Field = "alert"
		}
		err = &refusal{refused}
	}
	return done(message.AlertDone{Outcome: o.Outcome, Alert: o.Alert}, err)
}
