package api

import (
	"context"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/tasks/channels"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
	"github.com/sendlimit/sendlimiter/tasks/overview"
)

const channelsPath = "/v1/channels"

type ofChannel struct {
	Channel string `path:"channel"`
}

func (s *server) channelRoutes() []route {
	return []route{
		operation(s, route{
			Operation: named("listChannels", http.MethodGet, channelsPath, "operation",
				"List the channels and their states",
				"Lists channels that have delivered something or are stopped. A channel whose provider refuses the credentials is stopped for "+
					"all workers. Its messages wait, and no attempt counts. Workers probe it once a minute, and resume it when a probe succeeds."),
			scope: accounts.ScopeAdmin, says: "All channels.",
		}, s.listChannels),
		operation(s, route{
			Operation: named("resumeChannel", http.MethodPost, channelsPath+"/{channel}/resume", "operation",
				"Resume a stopped channel",
				"All workers follow within 2 seconds. If its provider reported all devices as gone, correct project, key and environment first: "+
					"from now on, devices that it reports as gone are removed."),
			scope: accounts.ScopeAdmin, says: "Resumed.",
		}, func(ctx context.Context, in ofChannel) (message.ChannelResume, error) {
			answer := message.ChannelResume{Outcome: message.ChannelResumed, Channel: in.Channel}
			was, err := s.Channels.Resume(ctx, answer.Channel)
			if !was {
				answer.Outcome = message.ChannelRunning
			}
			return answer, err
		}),
	}
}

func (s *server) listChannels(ctx context.Context, _ nothing) (list message.Channels, err error) {
	states, err := s.Channels.Load(ctx)
	if err != nil {
		return list, err
	}
	list.Channels = make([]message.Channel, len(states))
	for i, state := range states {
		paces, err := s.Paces.Of(deliver.ChannelPace(state.Name))
		if err != nil {
			return list, err
		}
		if len(states) == 1 { // its workers pause and learn the pace of all messages
			paces = s.Paces
		}
		pace, err := paces.Load(ctx)
		if err != nil {
			return list, err
		}
		c := message.Channel{Channel: state.Name, State: message.ChannelRunning, DeliveredAt: message.Time{Time: state.DeliveredAt()}}
		c.Learned = overview.LearnedPace(pace.Learned)
		if pace.PausedUntil.After(s.Now()) {
			c.State, c.PausedUntil = message.ChannelPaused, message.Time{Time: pace.PausedUntil}
		}
		if state.Stopped {
			c.State, c.Reason, c.Detail = message.ChannelStopped, string(state.Reason), state.Detail
			c.Since, c.ProbeAt = message.Time{Time: state.Since}, message.Time{Time: state.ProbeAt}
		}
		if wave := state.Wave; wave != nil && s.Now().Sub(wave.At) < channels.WaveLasts {
			c.Wave = &message.ChannelWave{Gone: wave.Gone, Of: wave.Of, Accounts: wave.Accounts, Campaigns: wave.Campaigns}
		}
		list.Channels[i] = c
	}
	return list, nil
}
