package find

import "github.com/sendlimit/sendlimiter/sendlimit/keyspace"

// lists are the lists of the index that a walk goes through, in order, and the scores that it
// reads.
type lists struct {
	keys        keyspace.Keys
	byCampaign  bool
	partition   int // the first one
	partitions  int
	shard       int // the first one
	shards      int
	first, last int64 // scores
}

// listsOf returns all lists of the ids, or of the campaigns.
func listsOf(keys keyspace.Keys, byCampaign bool) lists {
	return lists{
		keys: keys, byCampaign: byCampaign, partitions: keyspace.Partitions, shards: keyspace.IndexShards, last: keyspace.MaxIndexScore,
	}
}

// in returns the lists in which all messages are that a filter wants.
func (f Filter) in(keys keyspace.Keys) lists {
	of := listsOf(keys, f.ID == "" && f.Campaign != "")
	if f.User != "" {
		of.partition, of.partitions = keyspace.Partition(f.User), 1
	}
	switch {
	case f.ID != "":
		of.shard, of.shards = keyspace.IndexShard(f.ID), 1
		of.first = keyspace.IDScore(f.ID)
		of.last = of.first
	case f.Campaign != "" && f.Account != "":
		of.first = keyspace.CampaignScore(f.Account, f.Campaign)
		of.last = of.first
	case f.Campaign != "":
		of.first, of.last = keyspace.CampaignScores(f.Campaign)
	}
	return of
}

func (l lists) count() int { return l.partitions * l.shards }

// key returns the key of a list; n is 0 to count() - 1.
func (l lists) key(n int) string {
	partition, shard := l.partition+n/l.shards, l.shard+n%l.shards
	if l.byCampaign {
		return l.keys.Campaigns(partition, shard)
	}
	return l.keys.IDs(partition, shard)
}

// field returns the field that the record of every message in the lists has.
func (l lists) field() string {
	if l.byCampaign {
		return keyspace.RecordCampaign
	}
	return keyspace.RecordGeneration
}
