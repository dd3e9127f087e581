package keyspace

import (
	"crypto/sha256"
	"encoding/base64"
)

// Work is a job that one of many programs does at a time, see package turn.
type Work string

// All kinds of work, besides RefitWork, FollowWork and CampaignWork.
const (
	WorkHandOver Work = "handover" // hands messages of the near lists over to the queue
	WorkFar      Work = "far"      // moves entries from the far lists to the near lists
	WorkCharges  Work = "charges"  // settles open charges
	WorkEvents   Work = "events"   // gathers the events of all partitions
	WorkPlaces   Work = "places"   // frees the places of lost messages
	WorkLosses   Work = "losses"   // looks for what the store lost when it evicted keys
	WorkIndex    Work = "index"    // removes stale entries of the index
	WorkForecast Work = "forecast" // counts due messages by time
	WorkAlerts   Work = "alerts"   // puts due alerts into the queue
	WorkUnsent   Work = "unsent"   // ends alerts that nothing can deliver
	WorkSettings Work = "settings" // continues follow-throughs of changed settings
)

// RefitWork is the refit of a policy.
func RefitWork(policy string) Work { return Work("refit:" + policy) }

// FollowWork moves or drops the messages of a user whose settings changed. It has a hash of the
// user's name, as no erasure removes it.
func FollowWork(user string) Work {
	hash := sha256.Sum256([]byte(user))
	return Work("follow:" + base64.RawURLEncoding.EncodeToString(hash[:12]))
}

// CampaignWork moves the messages of a campaign, "account/campaign".
func CampaignWork(campaign string) Work { return Work("campaign:" + campaign) }

// Turn returns the key of the turn of some work.
func (k Keys) Turn(of Work) string { return k.prefix + ":turn:" + string(of) }
