package store

import (
	"github.com/sendlimit/sendlimiter/config"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// SubmitterOptions are what the settings say about submitting: the same in every
// program.
func SubmitterOptions(c config.Config) submit.Options {
	return submit.Options{
		Prefix: c.Prefix, Reach: c.Reach, KeepRecords: c.KeepRecords, ExpireAfter: c.ExpireAfter,
		StoreFullAt: c.StoreFullAt, WaitReplicas: c.WaitReplicas, WaitReplicasTimeout: c.WaitReplicasTimeout,
	}
}
