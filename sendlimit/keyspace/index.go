package keyspace

import (
	"hash/fnv"
	"strings"
)

// The index finds messages of all users by id, or by campaign. Each partition has two lists for it,
// in IndexParts parts each. A message may be in two parts of a list:
//
//	head    part 0: the first entries, while they are fewer than IndexHead
//	shards  parts 1 to 16: the other entries, by a hash of the id
//	long    part 17: all entries whose members are longer than 64 bytes, which take a
//	        part out of the compact encoding of Redis
//
// An entry never changes its part, and its score depends only on its id or campaign. Neither
// changes while the message moves and ends, so reading the parts in order of score and member meets
// each entry once. If a message is accepted again after its record has expired, a stale entry may
// remain in the shard or the head.

const (
	// IndexHead is the maximum number of entries of a head, as many as Redis keeps compact. So
	// small stores have one key instead of IndexShards. lua/fragments/found.lua has the same
	// number.
	IndexHead = 128
	// IndexShards is the number of shards of a list of the index in a partition. With 16 of them, a
	// shard stays in the compact encoding of Redis, at most 128 entries, up to some two million
	// records. It never changes: the id of an entry decides its shard.
	IndexShards = FarLists
	// IndexParts is the number of parts of a list of the index in a partition.
	IndexParts = 1 + IndexShards + 1

	headPart   = 0
	longPart   = IndexParts - 1
	maxCompact = 64 // bytes
)

// IndexPartsOf returns the parts in which the entry of a message may be. The first is used if there
// is room. A long member has one part, which is returned twice. The shard is FNV-1a 32 of the id,
// modulo IndexShards.
func IndexPartsOf(user, id string) (first, other int) {
	if len(IndexMember(user, id)) > maxCompact {
		return longPart, longPart
	}
	return headPart, 1 + farList(id)
}

// IndexPartsOfID returns the parts in which entries of an id may be, for any user, in order.
func IndexPartsOfID(id string) []int { return []int{headPart, 1 + farList(id), longPart} }

// IndexPartsOfAll returns all parts, in order.
func IndexPartsOfAll() []int {
	parts := make([]int, IndexParts)
	for part := range parts {
		parts[part] = part
	}
	return parts
}

// IDs returns the key of a part of the messages of a partition by their ids; part is 0 to
// IndexParts - 1.
func (k Keys) IDs(partition, part int) string { return k.indexPart("ids", partition, part) }

// Campaigns returns the key of a part of the messages of a partition by their campaigns; part is 0
// to IndexParts - 1. Only messages with a campaign are in it.
func (k Keys) Campaigns(partition, part int) string { return k.indexPart("camps", partition, part) }

func (k Keys) indexPart(list string, partition, part int) string {
	switch part {
	case headPart:
		return k.Partitions[partition] + list
	case longPart:
		return k.Partitions[partition] + list + ":long"
	default:
		return k.Partitions[partition] + list + ":" + partLetter(part-1)
	}
}

// IndexKeys returns the keys of the parts in which the entries of a message may be, as IndexPartsOf
// orders them: first in the list of ids, then in the list of campaigns.
func (k Keys) IndexKeys(user, id string) []string {
	partition := Partition(user)
	first, other := IndexPartsOf(user, id)
	return []string{
		k.IDs(partition, first), k.IDs(partition, other), k.Campaigns(partition, first), k.Campaigns(partition, other),
	}
}

// A score has 31 bits: Redis keeps such a number in 6 bytes of a compact list, a longer one in 10.
// Several messages may have the same score, so readers check the record.

// IDScore returns the score of a message in the list of ids: the upper 31 bits of FNV-1a 64 of the
// id.
func IDScore(id string) int64 { return int64(hash64(id) >> (64 - scoreBits)) }

// CampaignScore returns the score of a message in the list of campaigns: the upper 16 bits of
// FNV-1a 64 of the campaign, then the upper 15 bits of that of the account, which is "" for none.
func CampaignScore(account, campaign string) int64 {
	first, _ := CampaignScores(campaign)
	return first + int64(hash64(account)>>(64-accountBits))
}

// CampaignScores returns the lowest and the highest score of a campaign's messages, for any
// account. Another campaign may have the same scores.
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

// IndexMember returns the member of a message in the index: its WatchMember without the generation.
func IndexMember(user, id string) string { return WatchSuffix(user, id) }

// ParseIndexMember parses a member of the index; ok is false if it is none.
func ParseIndexMember(member string) (user, id string, ok bool) {
	if !strings.HasPrefix(member, "/") {
		return "", "", false
	}
	user, id, _, ok = ParseWatchMember("-" + member) // any generation
	return user, id, ok
}
