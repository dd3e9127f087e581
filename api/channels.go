package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sendlimit/sendlimiter/api/internal/web"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

const channelsPath = "/v1/channels"

func (s *server) listChannelsRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "listChannels", Method: http.MethodGet, Path: channelsPath, Tags: []string{"operation"},
			Summary: "List the channels, and which are stopped",
			Description: "Those that have delivered something, or are stopped. A channel whose provider refuses the credentials is stopped for " +
				"all workers. Its messages wait, and no attempt counts. Workers probe it once a minute, and go on by themselves when a probe passes.",
			Responses: responses[message.Channels](s, "All of them."),
		},
		scope: accounts.ScopeAdmin, do: func(r *http.Request, _ web.Query) (web.Answer, error) { return done(s.listChannels(r.Context())) },
	}
}

func (s *server) listChannels(ctx context.Context) (list message.Channels, err error) {
	states, err := s.channels.Load(ctx)
	if err != nil {
		return list, err
	}
	list.Channels = make([]message.Channel, len(states))
	for i, state := range states {
		paces, err := s.paces.Of(deliver.ChannelPace(state.Name))
		if err != nil {
			return list, err
		}
		pace, err := paces.Load(ctx)
		if err != nil {
			return list, err
		}
		c := message.Channel{Channel: state.Name, State: message.ChannelRunning, DeliveredAt: message.Time{Time: state.DeliveredAt()}}
		if pace.PausedUntil.After(s.now()) {
			c.State, c.PausedUntil = message.ChannelPaused, message.Time{Time: pace.PausedUntil}
		}
		if state.Stopped {
			c.State, c.Reason, c.Detail = message.ChannelStopped, string(state.Reason), state.Detail
			c.Since, c.ProbeAt = message.Time{Time: state.Since}, message.Time{Time: state.ProbeAt}
		}
		if wave := state.Wave; wave != nil && s.now().Sub(wave.At) < channels.WaveLasts {
			c.Wave = &message.ChannelWave{Gone: wave.Gone, Of: wave.Of, Accounts: wave.Accounts, Campaigns: wave.Campaigns}
		}
		list.Channels[i] = c
	}
	return list, nil
}

func (s *server) resumeChannelRoute() route {
	return route{
		Operation: huma.Operation{
			OperationID: "resumeChannel", Method: http.MethodPost, Path: channelsPath + "/{channel}/resume", Tags: []string{"operation"},
			Summary: "Have a stopped channel deliver again",
			Description: "All workers follow within 2 seconds. If its provider called all devices gone, correct project, key and environment first: " +
				"the devices that it calls gone are removed from now on.",
			Parameters: []*huma.Param{{
				Name: "channel", In: "path", Required: true, Example: devices.FCM, Description: "The name of the channel, as listChannels has it.",
				Schema: parameterSchema("account"),
			}},
			Responses: responses[message.ChannelResume](s, "It delivers."),
		},
		scope: accounts.ScopeAdmin, do: func(r *http.Request, _ web.Query) (web.Answer, error) {
			answer := message.ChannelResume{Outcome: message.ChannelResumed, Channel: r.PathValue("channel")}
			was, err := s.channels.Resume(r.Context(), answer.Channel)
			if !was {
				answer.Outcome = message.ChannelRunning
			}
			return done(answer, err)
		},
	}
}
