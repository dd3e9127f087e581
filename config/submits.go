package config

import (
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// day is 24 hours.
const day = 24 * time.Hour

// submitSettings returns the rows of the table about submits, and about how long messages are kept.
func submitSettings(w *written, c *Config) []*setting {
	return []*setting{
		{
			key: "reach", written: &w.Reach, standard: "366d", kind: "duration",
			help:   "how far ahead a send time may be",
			accept: duration(&c.Reach, time.Minute, policy.DefaultReach),
		},
		{
			key: "places_per_day", written: &w.PlacesPerDay, standard: "1000", kind: "number",
			help:   "how many messages a user may have in a day of UTC, whatever the rules allow",
			accept: number(&c.PlacesPerDay, 1, policy.MaxPlacesPerDay),
		},
		{
			key: "account_places", written: &w.AccountPlaces, standard: "75%", kind: "percentage",
			help:   "percentage of a user's messages of a day that one account may have, if several accounts have keys",
			accept: percentage(&c.AccountPlaces, 1, 100),
		},
		{
			key: "expire_after", written: &w.ExpireAfter, standard: "24h", kind: "duration",
			help:   "how long after its send time an undelivered message is dropped; a message can say otherwise",
			accept: duration(&c.ExpireAfter, time.Second, 366*day),
		},
		{
			key: "keep_records", written: &w.KeepRecords, standard: "168h", kind: "duration",
			help:   "how long a message's id is remembered after it ended",
			accept: duration(&c.KeepRecords, time.Minute, 366*day),
		},
		{
			key: "keep_content", written: &w.KeepContent, standard: "false", kind: "bool",
			help:   "keep title, body and data of a delivered message as long as its id, to show them",
			accept: boolean(&c.KeepContent),
		},
		{
			key: "horizon", written: &w.Horizon, standard: "2m", kind: "duration",
			help:   "how long before its send time a message is handed over to the queue",
			accept: duration(&c.Horizon, 15*time.Second, day),
		},
		{
			key: "moves_per_minute", written: &w.MovesPerMinute, standard: "10", kind: "number",
			help:   "how often a message can be moved in a minute",
			accept: number(&c.MovesPerMinute, 1, 1000),
		},
		{
			key: "index", written: &w.Index, standard: "true", kind: "bool",
			help:   "keep an index of messages, to find them without their user",
			accept: boolean(&c.Index),
		},
		{
			key: "store_full_at", written: &w.StoreFullAt, standard: "85%", kind: "percentage",
			help:   "percentage of its maxmemory at which the store accepts no more messages",
			accept: percentage(&c.StoreFullAt, 50, 100),
		},
		{
			key: "wait_replicas", written: &w.WaitReplicas, standard: "0", kind: "number",
			help:   "replicas that must have a submit, move or cancel before it is answered",
			accept: number(&c.WaitReplicas, 0, 10),
		},
		{
			key: "wait_replicas_timeout", written: &w.WaitReplicasTimeout, standard: "1s", kind: "duration",
			help:   "how long to wait for these replicas before the answer is an error",
			accept: duration(&c.WaitReplicasTimeout, 10*time.Millisecond, time.Minute),
		},
		{
			key: "queues", written: &w.Queues, standard: "0", kind: "number",
			help:   "queues that the messages are spread over; 0 for one, or as many as a cluster has masters",
			accept: number(&c.Queues, 0, 64),
		},
	}
}
