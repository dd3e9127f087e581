package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/tasks/channels"
)

const sendingPath = "/v1/sending"

func (s *server) sendingRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("getSending", http.MethodGet, sendingPath, "operation",
				"Get whether all sending is stopped",
				"With who stopped it, since when and why."),
			scope: accounts.ScopeAdmin, says: "Whether it is stopped.",
		}, s.showSending),
		operation(s, route{
			Operation: named("stopSending", http.MethodPost, sendingPath+"/stop", "operation",
				"Stop all sending",
				"No worker begins another delivery 2 seconds after the answer, until startSending. Calls to providers that have begun end as always. "+
					"Messages are still accepted, refused and judged as always. Due ones wait without an attempt, and end at their expiry. "+
					"Alerts, reports and events are sent on."),
			scope: accounts.ScopeAdmin, says: "Stopped.",
		}, s.stopSending),
		operation(s, route{
			Operation: named("startSending", http.MethodPost, sendingPath+"/start", "operation",
				"Start all sending again",
				"Workers follow within 2 seconds. Messages that have become late are judged like all late messages: the rules hold, and their order is kept."),
			scope: accounts.ScopeAdmin, says: "Started.",
		}, func(ctx context.Context, _ nothing) (message.SendingChange, error) {
			was, err := s.Channels.StartSending(ctx)
			answer := message.SendingChange{Outcome: message.SendingAlreadyRunning, Sending: sendingOf(nil)}
			if was {
				answer.Outcome = message.SendingNowStarted
			}
			return answer, err
		}),
	}
}

func (s *server) showSending(ctx context.Context, _ nothing) (message.Sending, error) {
	stop, err := s.Channels.Sending(ctx)
	return sendingOf(stop), err
}

type sendingStop struct {
	Body object[message.SendingStopDraft]
}

func (s *server) stopSending(ctx context.Context, in sendingStop) (message.SendingChange, error) {
	stop, first, err := s.Channels.StopSending(ctx, channels.SendingStop{Reason: in.Body.value.Reason, By: nameOf(callerOf(ctx))})
	answer := message.SendingChange{Outcome: message.SendingAlreadyStopped, Sending: sendingOf(&stop)}
	if first {
		answer.Outcome = message.SendingNowStopped
	}
	return answer, err
}

// sendingOf returns a stop of all sending in the form of answers; nil means none.
func sendingOf(stop *channels.SendingStop) message.Sending {
	if stop == nil {
		return message.Sending{State: message.SendingRunning}
	}
	return message.Sending{State: message.SendingStopped, Reason: stop.Reason, By: stop.By, Since: message.Time{Time: stop.Since}}
}
