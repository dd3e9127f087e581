package message

// The States of a Channel.
const (
	ChannelRunning = "running"
	ChannelPaused  = "paused"
	ChannelStopped = "stopped"
)

// ChannelBrake is the Reason of a Channel that was stopped because all devices were called gone.
const ChannelBrake = "brake"

// Channel is the state of a channel that has delivered or is stopped.
type Channel struct {
	Channel     string       `json:"channel" doc:"Its name, such as fcm."`
	State       string       `json:"state" doc:"running; paused, if its provider has asked for a pause; or stopped."`
	Reason      string       `json:"reason,omitempty" doc:"Why it is stopped: unauthorized, its provider refuses the credentials; misaddressed, its provider does not know the project or the path; brake, its provider calls all devices gone."`
	Detail      string       `json:"detail,omitempty" doc:"The provider's answer."`
	Since       Time         `json:"since,omitzero" doc:"Since when it is stopped."`
	ProbeAt     Time         `json:"probe_at,omitzero" doc:"When workers probe it again; absent if they do not."`
	PausedUntil Time         `json:"paused_until,omitzero" doc:"The end of the pause that its provider has asked for."`
	Learned     *LearnedPace `json:"learned,omitempty" doc:"How fast its provider accepts calls, as its refusals show; absent if it has refused none for an hour."`
	DeliveredAt Time         `json:"delivered_at,omitzero" doc:"When it last delivered, to a few seconds; absent if never."`
	Wave        *ChannelWave `json:"wave,omitempty" doc:"Set if the provider recently called many devices gone."`
}

// ChannelWave describes a time in which a provider called many devices gone.
type ChannelWave struct {
	Gone      int            `json:"gone" doc:"How many of the last answers called a device gone. Those devices are kept."`
	Of        int            `json:"of" doc:"The number of these last answers."`
	Accounts  map[string]int `json:"accounts" doc:"The number of these messages by account; the empty name has those without an account."`
	Campaigns map[string]int `json:"campaigns" doc:"The number of these messages by campaign; the empty name has those without a campaign."`
}

// Channels lists the channels that have delivered or are stopped.
type Channels struct {
	Channels []Channel `json:"channels" doc:"By name."`
}

// ChannelResumed is the Outcome of a ChannelResume. If the channel was not stopped, it is
// ChannelRunning.
const ChannelResumed = "resumed"

// ChannelResume is the answer to a request to resume a channel.
type ChannelResume struct {
	Outcome string `json:"outcome" doc:"resumed, or running if it was not stopped"`
	Channel string `json:"channel" doc:"Its name."`
}
