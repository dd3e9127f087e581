package find

import "github.com/sendlimit/sendlimiter/sendlimit/keyspace"

// lists are the parts of the index that a walk reads, in order, and the scores that it reads.
type lists struct {
	keys        keyspace.Keys
	byCampaign  bool
	partition   int // the first one
	partitions  int
	parts       []int // of each partition; the head is the first one
	first, last int64 // scores
}

// listsOf returns all parts of the ids, or of the campaigns.
func listsOf(keys keyspace.Keys, byCampaign bool) lists {
	return lists{
		keys: keys, byCampaign: byCampaign, partitions: keyspace.Partitions, parts: keyspace.IndexPartsOfAll(), last: keyspace.MaxIndexScore,
	}
}

// in returns the parts that may have messages of a filter.
func (f Filter) in(keys keyspace.Keys) lists {
	of := listsOf(keys, f.ID == "" && f.Campaign != "")
	if f.User != "" {
		of.partition, of.partitions = keyspace.Partition(f.User), 1
	}
	switch {
	case f.ID != "":
		of.parts = keyspace.IndexPartsOfID(f.ID)
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

func (l lists) count() int { return l.partitions * len(l.parts) }

// key returns the key of a part; n is 0 to count() - 1.
func (l lists) key(n int) string {
	partition, part := l.partition+n/len(l.parts), l.parts[n%len(l.parts)]
	if l.byCampaign {
		return l.keys.Campaigns(partition, part)
	}
	return l.keys.IDs(partition, part)
}

// head returns the head of a part's partition.
func (l lists) head(n int) int { return n - n%len(l.parts) }

// field returns the field that the record of every message in the parts has.
func (l lists) field() string {
	if l.byCampaign {
		return keyspace.RecordCampaign
	}
	return keyspace.RecordGeneration
}
