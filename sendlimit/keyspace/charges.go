package keyspace

import (
	"strconv"
	"time"
)

// Charged returns the key of an account's charge in the hour (unit "h") or the day ("d") that
// begins at a time; "s" is the settled part of a day.
func (k Keys) Charged(account, unit string, start time.Time) string {
	return k.Partitions[Partition(account)] + "q:" + account + ":" + unit + ":" + strconv.FormatInt(start.UnixMilli(), 10)
}

// HoldsOfCall returns the key of the holds that a call made in a partition.
func (k Keys) HoldsOfCall(partition int, call string) string {
	return k.Partitions[partition] + "h:" + call
}

// Holds returns the key of the calls with unsettled charges in an account's partition.
func (k Keys) Holds(account string) string { return k.HoldsOf(Partition(account)) }

// HoldsOf returns the key of the calls with unsettled charges in a partition.
func (k Keys) HoldsOf(partition int) string { return k.Partitions[partition] + "holds" }
