package store

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// zonesField is the field of the meta key with the newest release of the time zones.
const zonesField = "time_zones"

// ReadZones returns the newest release of the time zone database that a program has recorded, such
// as 2025c; "" for none.
func ReadZones(ctx context.Context, client redis.Cmdable, keys keyspace.Keys) (newest string, err error) {
	newest, err = client.HGet(ctx, keys.Meta(), zonesField).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", Explain(err, "reading the release of the time zones")
	}
	return newest, nil
}

// NoteZones records the release of a program, if it is newer than the recorded one, and returns the
// newest. Programs with other releases may judge the same time differently. Names of releases sort
// by time.
func NoteZones(ctx context.Context, client redis.Cmdable, keys keyspace.Keys, release string) (newest string, err error) {
	newest, err = ReadZones(ctx, client, keys)
	if err != nil || newest >= release {
		return newest, err
	}
	return release, Explain(client.HSet(ctx, keys.Meta(), zonesField, release).Err(), "noting the release of the time zones")
}
