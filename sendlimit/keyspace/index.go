package keyspace

import (
	"hash/fnv"
	"strings"
)

// The index of messages finds those of all users by their id, or by their campaign. Each
// partition has two lists for it, in IndexShards shards each. A message's shard depends on
// its id alone, and its score on what it is found by. Neither changes while the message moves
// and ends: who reads the lists in order of score and member meets each message once.

// IndexShards is the number of shards of a list of the index in a partition. With 16 of
// them, a shard stays in the compact encoding of Redis, at most 128 entries, up to some two
// million records. It never changes: an entry is looked for in the shard of its id.
const IndexShards = FarLists

// IndexShard returns the shard of a message: FNV-1a 32 of the id, modulo IndexShards.
func IndexShard(id string) int { return farList(id) }

// IDs returns the key of a shard of the messages of a partition by their ids; shard is 0 to
// IndexShards - 1.
func (k Keys) IDs(partition, shard int) string { return k.indexShard("ids:", partition, shard) }

// Campaigns returns the key of a shard of the messages of a partition by their campaigns;
// shard is 0 to IndexShards - 1. Only messages with a campaign are in it.
func (k Keys) Campaigns(partition, shard int) string {
	return k.indexShard("camps:", partition, shard)
}

func (k Keys) indexShard(list string, partition, shard int) string {
	return k.Partitions[partition] + list + "0123456789abcdef"[shard:shard+1]
}

// IndexSwept returns the key that says that somebody looked for stale entries of the index.
func (k Keys) IndexSwept() string { return k.prefix + ":indexswept" }

// A score has 31 bits: Redis keeps such a number in 6 bytes of a compact list, a longer one in
// 10. Some messages have the same score as others. Who reads them looks at the record anyway.

// IDScore returns the score of a message among the ids: the upper 31 bits of FNV-1a 64 of
// the id.
func IDScore(id string) int64 { return int64(hash64(id) >> (64 - scoreBits)) }

// CampaignScore returns the score of a message among the campaigns: the upper 16 bits of
// FNV-1a 64 of the campaign, then the upper 15 of that of the account, which is "" for none.
func CampaignScore(account, campaign string) int64 {
	first, _ := CampaignScores(campaign)
	return first + int64(hash64(account)>>(64-accountBits))
}

// CampaignScores returns the lowest and the highest score that a message of a campaign has,
// whatever its account. Another campaign may have the same scores.
func CampaignScores(campaign string) (first, last int64) {
	first = int64(hash64(campaign)>>(64-scoreBits+accountBits)) << accountBits
	return first, first + 1<<accountBits - 1
}

// MaxIndexScore is the highest score in the index; the lowest is 0.
const MaxIndexScore = 1<<scoreBits - 1

const (
	scoreBits   = 31
	accountBits = 15
)

func hash64(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // a hash never fails
	return h.Sum64()
}

// IndexMember returns the member of a message in the index: its WatchMember without the
// generation.
func IndexMember(user, id string) string { return WatchSuffix(user, id) }

// ParseIndexMember takes a member of the index apart; ok is false if it is none.
func ParseIndexMember(member string) (user, id string, ok bool) {
	if !strings.HasPrefix(member, "/") {
		return "", "", false
	}
	user, id, _, ok = ParseWatchMember("-" + member) // any generation
	return user, id, ok
}
