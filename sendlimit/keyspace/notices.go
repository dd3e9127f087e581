package keyspace

import "strconv"

// Letters of the subjects of quotas, in the keys of their alerts.
const (
	AlertOfUser    = "u"
	AlertOfAccount = "a"
)

// Alert returns the key of what was alerted about a subject on the day that
// begins at dayFrom, Unix ms. The letter is AlertOfUser or AlertOfAccount.
func (k Keys) Alert(letter, subject string, dayFrom int64) string {
	return k.Partitions[Partition(subject)] + "alert:" + letter + ":" + subject + ":" + strconv.FormatInt(dayFrom, 10)
}

// Notices returns the key of the notices of a partition that have not ended.
func (k Keys) Notices(partition int) string { return k.Partitions[partition] + "notices" }

// Notice returns the key of a notice about a subject, in the subject's partition. Of an
// alert of an event, the subject here is the event.
func (k Keys) Notice(subject, id string) string {
	return k.Partitions[Partition(subject)] + "n:" + id
}

// DeadNotices returns the key of the failed notices of a partition.
func (k Keys) DeadNotices(partition int) string { return k.Partitions[partition] + "deadnotices" }

// Gathered returns the key of the users of a partition that the next digests
// list.
func (k Keys) Gathered(partition int) string { return k.Partitions[partition] + "gathered" }
