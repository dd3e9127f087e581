package keyspace

// Paused returns the key of the paused campaigns.
func (k Keys) Paused() string { return k.prefix + ":paused" }

// CampaignTurn returns the key of the turn of working on a campaign.
func (k Keys) CampaignTurn(campaign string) string { return k.prefix + ":campaign:" + campaign }
