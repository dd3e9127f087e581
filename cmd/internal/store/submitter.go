package store

import (
	"github.com/sendlimit/sendlimiter/cmd/internal/channelcheck"
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// BackendOptions returns the options of a backend for the settings, the same in every
// program.
func BackendOptions(c config.Config) backend.Options {
	return backend.Options{
		Options: sendlimit.Options{
			Prefix: c.Prefix, Reach: c.Reach, PlacesPerDay: c.PlacesPerDay, KeepRecords: c.KeepRecords, ExpireAfter: c.ExpireAfter,
			Horizon: c.Horizon, MovesPerMinute: c.MovesPerMinute, WithoutIndex: !c.Index, KeepContent: c.KeepContent,
		},
		AccountPlaces: c.AccountPlaces, Queues: c.Queues,
		Events: events.Options{Keep: c.EventsKeep, Most: c.EventsMost},
	}
}

// SubmitterOptions returns the options of a submitter for the settings, the same in every
// program.
func SubmitterOptions(c config.Config) submit.Options {
	return submit.Options{
		StoreFullAt: c.StoreFullAt, WaitReplicas: c.WaitReplicas, WaitReplicasTimeout: c.WaitReplicasTimeout,
		CheckChannel: channelcheck.New(c).Message,
	}
}
