package keyspace

// Work is what one of many programs does at a time, see package turn.
type Work string

// The work that there is.
const (
	WorkHandOver Work = "handover" // looks at the near lists of all partitions
	WorkFar      Work = "far"      // looks at the far lists
	WorkCharges  Work = "charges"  // looks at charges that are not settled
	WorkEvents   Work = "events"   // gathers the events of all partitions
	WorkPlaces   Work = "places"   // looks for the places of lost messages
	WorkIndex    Work = "index"    // looks for stale entries of the index
	WorkForecast Work = "forecast" // counts what is due when
)

// RefitWork is to go through what does not fit a policy.
func RefitWork(policy string) Work { return Work("refit:" + policy) }

// CampaignWork is to move the messages of a campaign, "account/campaign".
func CampaignWork(campaign string) Work { return Work("campaign:" + campaign) }

// Turn returns the key of the turn of some work.
func (k Keys) Turn(of Work) string { return k.prefix + ":turn:" + string(of) }
