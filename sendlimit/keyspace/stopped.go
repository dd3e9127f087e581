package keyspace

// Stopped returns the key of paused campaigns and stopped channels. It has a field for each paused
// campaign, "account/campaign", and up to four for a channel: "fcm stopped", "fcm probe" and so on. While
// all sending is stopped, it has the field " stopped".
func (k Keys) Stopped() string { return k.prefix + ":stopped" }

// EndedCampaign returns the key that says that a campaign, "account/campaign", has ended.
func (k Keys) EndedCampaign(campaign string) string { return k.prefix + ":ended:" + campaign }
