package message

// The States of a Channel.
const (
	ChannelRunning = "running"
	ChannelPaused  = "paused"
	ChannelStopped = "stopped"
)

// ChannelBrake is the Reason of a Channel whose provider calls all devices gone.
const ChannelBrake = "brake"

// Channel is the state of a channel that has delivered something, or is stopped.
type Channel struct {
	Channel     string       `json:"channel" doc:"Its name, such as fcm."`
	State       string       `json:"state" doc:"running; paused, if its provider has asked for a pause; or stopped."`
	Reason      string       `json:"reason,omitempty" doc:"Why it is stopped: unauthorized, its provider refuses the credentials; misaddressed, its provider does not know the project or the path; brake, its provider calls all devices gone."`
	Detail      string       `json:"detail,omitempty" doc:"What its provider said."`
	Since       Time         `json:"since,omitzero" doc:"Since when it is stopped."`
	ProbeAt     Time         `json:"probe_at,omitzero" doc:"When workers probe it again; absent if they do not."`
	PausedUntil Time         `json:"paused_until,omitzero" doc:"The end of the pause that its provider has asked for."`
	DeliveredAt Time         `json:"delivered_at,omitzero" doc:"When it has delivered last, to a few seconds; absent if it has not."`
	Wave        *ChannelWave `json:"wave,omitempty" doc:"Tells of the many devices that its provider called gone a moment ago; absent if it did not."`
}

// ChannelWave tells of many devices that a provider calls gone, beside others that it knows.
type ChannelWave struct {
	Gone      int            `json:"gone" doc:"How many of the last answers called a device gone. Those devices are kept."`
	Of        int            `json:"of" doc:"How many answers these are."`
	Accounts  map[string]int `json:"accounts" doc:"How many of these messages each account sent; an empty name is those without an account."`
	Campaigns map[string]int `json:"campaigns" doc:"How many of these messages each campaign has; an empty name is those without a campaign."`
}

// Channels are those that have delivered something, or are stopped.
type Channels struct {
	Channels []Channel `json:"channels" doc:"By name."`
}

// ChannelResumed is the Outcome of a ChannelResume. If the channel was not stopped, it is
// ChannelRunning.
const ChannelResumed = "resumed"

// ChannelResume is the answer to a channel that delivers again.
type ChannelResume struct {
	Outcome string `json:"outcome" doc:"resumed, or running if it was not stopped"`
	Channel string `json:"channel" doc:"Its name."`
}
