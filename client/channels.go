package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/sendlimit/sendlimiter/message"
)

type (
	// Channel is the state of a channel that has delivered something, or is stopped.
	Channel = message.Channel
	// ChannelWave tells of many devices that a provider calls gone.
	ChannelWave = message.ChannelWave
	// ChannelResume is the answer to a channel that delivers again.
	ChannelResume = message.ChannelResume
)

const channelsPath = "/v1/channels"

// Channels returns the states of the channels that have delivered something, or are stopped. Both
// calls about channels need a key with the scope admin.
func (c *Client) Channels(ctx context.Context) ([]Channel, error) {
	answer, err := answerTo[message.Channels](ctx, c, call{doing: "listing channels", method: http.MethodGet, path: channelsPath}, nil)
	return answer.Channels, err
}

// ResumeChannel has a stopped channel deliver again. If the answer to an earlier try got lost, the
// Outcome may say that it was not stopped.
func (c *Client) ResumeChannel(ctx context.Context, name string) (ChannelResume, error) {
	const doing = "resuming a channel"
	if name == "" {
		return ChannelResume{}, fmt.Errorf("%s: %w", doing, invalid("channel", "is missing"))
	}
	return answerTo[ChannelResume](ctx, c, call{doing: doing, method: http.MethodPost, path: channelsPath + "/" + segment(name) + "/resume"}, nil)
}
