package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/overview"
)

const pacePath = "/v1/pace"

func (s *server) paceRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("getPace", http.MethodGet, pacePath, "operation",
				"Get the pace of all workers together",
				"Includes a pause that the target requested."),
			scope: accounts.ScopeAdmin, says: "The pace.",
		}, s.showPace),
		operation(s, route{
			Operation: named("setPace", http.MethodPut, pacePath, "operation",
				"Set or replace the pace",
				"No interval of the rate, such as a second, has more deliveries than the rate allows. With a burst, at most so many deliveries "+
					"start at once and the others follow one by one. Workers follow within 2 seconds, even for waiting messages. "+
					"A message that the pace makes late is judged like every late message."),
			scope: accounts.ScopeAdmin, says: "The pace after the change.",
		}, s.setPace),
		operation(s, route{
			Operation: named("clearPace", http.MethodDelete, pacePath, "operation",
				"Remove the pace, and end a pause",
				"Ends a pause that the target requested, and forgets how fast it accepts calls. A worker with a pace in its settings sets it again when it starts."),
			scope: accounts.ScopeAdmin, says: "The pace after the change.",
		}, s.clearPace),
	}
}

// ofPace is the pace of a channel, or of all messages.
type ofPace struct {
	Channel pacedChannel `query:"channel" example:"fcm" doc:"The channel of the pace. By default the pace is for all messages together."`
}

// pacedChannel is the parameter channel; "" for all messages.
type pacedChannel string

func (*pacedChannel) schema() *huma.Schema {
	schema := &huma.Schema{Type: huma.TypeString}
	for _, name := range deliver.PacedChannels() {
		schema.Enum = append(schema.Enum, name)
	}
	return schema
}

// UnmarshalText reads the parameter.
func (c *pacedChannel) UnmarshalText(text []byte) error {
	*c = pacedChannel(text)
	if !slices.Contains(deliver.PacedChannels(), string(text)) {
		return &fault.InvalidError{Field: "channel", Value: string(text), Want: strings.Join(deliver.PacedChannels(), ", ")}
	}
	return nil
}

// pacesOf returns the paces of the channel that a request names, or of all messages.
func (s *server) pacesOf(in ofPace) (*rate.Paces, error) {
	if in.Channel == "" {
		return s.Paces, nil
	}
	return s.Paces.Of(deliver.ChannelPace(string(in.Channel)))
}

func (s *server) showPace(ctx context.Context, in ofPace) (message.Pace, error) {
	return s.setPaceTo(ctx, in, nil)
}

type newPace struct {
	ofPace

	Body object[message.PaceDraft]
	pace rate.Pace
}

func (in *newPace) check(context.Context, *server) error {
	parsed, err := rate.Parse(in.Body.value.Rate)
	if err != nil {
		return err
	}
	in.pace = rate.Pace{Rate: parsed, Burst: in.Body.value.Burst}
	return in.pace.Validate()
}

func (s *server) setPace(ctx context.Context, in newPace) (message.Pace, error) {
	return s.setPaceTo(ctx, in.ofPace, func(paces *rate.Paces) error { return paces.Apply(ctx, in.pace) })
}

func (s *server) clearPace(ctx context.Context, in ofPace) (message.Pace, error) {
	return s.setPaceTo(ctx, in, func(paces *rate.Paces) error {
		return errors.Join(paces.Apply(ctx, rate.Pace{}), paces.Resume(ctx))
	})
}

// setPaceTo makes a change, which may be nil, and returns the pace of the store.
func (s *server) setPaceTo(ctx context.Context, in ofPace, change func(*rate.Paces) error) (now message.Pace, err error) {
	paces, err := s.pacesOf(in)
	if err == nil && change != nil {
		err = change(paces)
	}
	if err != nil {
		return now, err
	}
	state, err := paces.Load(ctx)
	now = message.Pace{Target: paces.Target(), Burst: state.Burst}
	if state.Rate.Count > 0 {
		now.Rate = state.Rate.String()
	}
	now.Learned = overview.LearnedPace(state.Learned)
	if state.PausedUntil.After(s.Now()) {
		now.PausedUntil = &message.Time{Time: state.PausedUntil}
	}
	return now, err
}
