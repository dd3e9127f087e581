package userdata

import (
	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/records/audit"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/queue"
)

// Users exports and erases all data of a user in the store and the queue. It scans all
// keys of the partition's server, so a call takes longer the more
// messages there are in the store. It is safe for concurrent use.
type Users struct {
	client   redis.UniversalClient
	keys     keyspace.Keys
	timeline *sendlimit.Timeline
	records  *messages.Records
	audit    *audit.Log
	devices  *devices.Store
	notices  *notices.Outbox
	queue    *queue.Queue
	backend  *backend.Backend
}

// New returns the users of a backend. The error is a *fault.InvalidError.
func New(b *backend.Backend) (*Users, error) {
	prefix := b.Timeline.Prefix
	u := &Users{
		client: b.Client, keys: b.Keys, queue: b.Queue, backend: b,
		records: messages.NewRecords(b.Client, b.Keys), devices: devices.New(b.Client, b.Keys, devices.Options{}),
	}
	var err error
	if u.timeline, err = sendlimit.NewTimeline(b.Client, b.Timeline); err != nil {
		return nil, err
	}
	if u.audit, err = audit.New(b.Client, audit.Options{Prefix: prefix}); err != nil {
		return nil, err
	}
	if u.notices, err = notices.New(b.Client, notices.Options{Prefix: prefix}); err != nil {
		return nil, err
	}
	return u, nil
}
