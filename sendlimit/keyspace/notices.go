package keyspace

import "strconv"

// Letters of the subjects of alerts, in the keys of what was alerted.
const (
	AlertOfUser    = "u"
	AlertOfAccount = "a"
)

// Alert returns the key of the alert of a subject for the day that begins at dayFrom, Unix ms. The
// letter is AlertOfUser or AlertOfAccount.
func (k Keys) Alert(letter, subject string, dayFrom int64) string {
	return k.Partitions[Partition(subject)] + "alert:" + letter + ":" + subject + ":" + strconv.FormatInt(dayFrom, 10)
}

// Notices returns the key of the alerts of a partition that have not ended.
func (k Keys) Notices(partition int) string { return k.Partitions[partition] + "notices" }

// Notice returns the key of an alert about a subject, in the subject's partition. For an alert of
// an event, the subject here is the event.
func (k Keys) Notice(subject, id string) string {
	return k.Partitions[Partition(subject)] + "n:" + id
}

// DeadNotices returns the key of the failed alerts of a partition.
func (k Keys) DeadNotices(partition int) string { return k.Partitions[partition] + "deadnotices" }

// Gathered returns the key of the users of a partition for the next digests.
func (k Keys) Gathered(partition int) string { return k.Partitions[partition] + "gathered" }
