package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

const pacePath = "/v1/pace"

func (s *server) showPaceRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "getPace", Method: http.MethodGet, Path: pacePath, Tags: []string{"operation"},
			Summary:     "Get how fast all workers together deliver",
			Description: "Also says whether the target has asked for a pause.",
			Parameters:  []*huma.Param{paceChannelParameter()},
			Responses:   responses[message.Pace](s, "The pace."),
		},
		scope: accounts.ScopeAdmin, do: func(r *http.Request, q web.Query) (web.Answer, error) {
			paces, err := s.pacesOf(q)
			if err != nil {
				return web.Answer{}, err
			}
			return s.paceNow(r.Context(), paces)
		},
	}
}

func (s *server) setPaceRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "setPace", Method: http.MethodPut, Path: pacePath, Tags: []string{"operation"},
			Summary: "Set or replace the pace",
			Description: "No interval, such as a second, has more deliveries than the rate allows. With a burst, at most that many deliveries " +
				"start at once and the others follow one by one at the rate. Workers follow within 2 seconds, also with messages that wait already. " +
				"A message that the pace makes late is judged like every late message.",
			Parameters:  []*huma.Param{paceChannelParameter()},
			RequestBody: jsonBody[message.PaceDraft](s),
			Responses:   responses[message.Pace](s, "As it is now.", bodyProblems()...),
		},
		scope: accounts.ScopeAdmin, do: s.setPace,
	}
}

func (s *server) setPace(r *http.Request, q web.Query) (web.Answer, error) {
	var pace rate.Pace
	paces, unknown := s.pacesOf(q)
	_, err := web.ReadBody(s.bodies(), r, func(draft message.PaceDraft) (err error) {
		var wrong fault.InvalidErrors
		wrong.Add(unknown)
		pace, err = paceOf(draft)
		wrong.Add(err)
		return wrong.Err()
	})
	if err == nil {
		err = paces.Apply(r.Context(), pace)
	}
	if err != nil {
		return web.Answer{}, err
	}
	return s.paceNow(r.Context(), paces)
}

func paceChannelParameter() *huma.Param {
	channels := make([]any, 0, len(deliver.PacedChannels()))
	for _, name := range deliver.PacedChannels() {
		channels = append(channels, name)
	}
	return &huma.Param{
		Name: "channel", In: "query", Example: devices.FCM,
		Description: "The channel whose pace it is. By default the pace is that of all messages together.",
		Schema:      &huma.Schema{Type: huma.TypeString, Enum: channels},
	}
}

// pacesOf returns the paces of the channel that a request names, or of all messages.
func (s *server) pacesOf(q web.Query) (*rate.Paces, error) {
	channel, given := q["channel"]
	switch {
	case !given:
		return s.paces, nil
	case !slices.Contains(deliver.PacedChannels(), channel):
		return nil, &fault.InvalidError{Field: "channel", Value: channel, Want: strings.Join(deliver.PacedChannels(), ", ")}
	}
	return s.paces.Of(deliver.ChannelPace(channel))
}

// paceOf reads a draft. The error is a *fault.InvalidError.
func paceOf(d message.PaceDraft) (rate.Pace, error) {
	parsed, err := rate.Parse(d.Rate)
	if err != nil {
		return rate.Pace{}, err
	}
	pace := rate.Pace{Rate: parsed, Burst: d.Burst}
	return pace, pace.Validate()
}

func (s *server) clearPaceRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "clearPace", Method: http.MethodDelete, Path: pacePath, Tags: []string{"operation"},
			Summary:     "Remove the pace, and end a pause",
			Description: "Also ends a pause that the target has asked for. A worker that has a pace in its settings sets it again when it starts.",
			Parameters:  []*huma.Param{paceChannelParameter()},
			Responses:   responses[message.Pace](s, "As it is now."),
		},
		scope: accounts.ScopeAdmin, do: s.clearPace,
	}
}

func (s *server) clearPace(r *http.Request, q web.Query) (web.Answer, error) {
	paces, err := s.pacesOf(q)
	if err == nil {
		err = errors.Join(paces.Apply(r.Context(), rate.Pace{}), paces.Resume(r.Context()))
	}
	if err != nil {
		return web.Answer{}, err
	}
	return s.paceNow(r.Context(), paces)
}

// paceNow answers with the pace of the store.
func (s *server) paceNow(ctx context.Context, paces *rate.Paces) (web.Answer, error) {
	state, err := paces.Load(ctx)
	if err != nil {
		return web.Answer{}, err
	}
	now := message.Pace{Target: paces.Target(), Burst: state.Burst}
	if state.Rate.Count > 0 {
		now.Rate = state.Rate.String()
	}
	if state.PausedUntil.After(s.now()) {
		now.PausedUntil = &message.Time{Time: state.PausedUntil}
	}
	return web.Done(now), nil
}
