package sendlimittest

import (
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/find"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// inspectIndex requires exactly one entry of each message that was accepted in the index of
// the ids, and of each with a campaign in the index of the campaigns.
func (m *mailbox) inspectIndex(t *rapid.T) {
	ids, campaigns := make(map[string]int64), make(map[string]int64)
	for id, known := range m.messages {
		member := keyspace.IndexMember(mailboxUser, id)
		if !m.options.WithoutIndex {
			ids[member] = keyspace.IDScore(id)
		}
		if known.campaign != "" {
			campaigns[member] = keyspace.CampaignScore("", known.campaign)
		}
	}
	partition := keyspace.Partition(mailboxUser)
	var inIDs, inCampaigns [keyspace.IndexShards]*redis.ZSliceCmd
	_, err := m.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for shard := range keyspace.IndexShards {
			inIDs[shard] = pipe.ZRangeWithScores(t.Context(), m.keys.IDs(partition, shard), 0, -1)
			inCampaigns[shard] = pipe.ZRangeWithScores(t.Context(), m.keys.Campaigns(partition, shard), 0, -1)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, ids, indexed(t, inIDs))
	require.Equal(t, campaigns, indexed(t, inCampaigns))
}

// indexed returns the entries of all shards, each in its own.
func indexed(t *rapid.T, shards [keyspace.IndexShards]*redis.ZSliceCmd) map[string]int64 {
	entries := make(map[string]int64)
	for shard, read := range shards {
		for _, e := range read.Val() {
			member, ok := e.Member.(string)
			require.True(t, ok)
			_, id, ok := keyspace.ParseIndexMember(member)
			require.True(t, ok, member)
			require.Equal(t, keyspace.IndexShard(id), shard, member)
			entries[member] = int64(e.Score)
		}
	}
	return entries
}

// find lists messages by what they have in common, in pages.
func (m *mailbox) find(t *rapid.T) {
	index, err := find.NewIndex(m.client, m.options.Options)
	require.NoError(t, err)
	id, status := m.drawID(t), ""
	if known := m.messages[id]; known != nil && rapid.Bool().Draw(t, "by status") {
		status = known.status()
	}
	wanted := rapid.SampledFrom([]find.Filter{
		{User: mailboxUser},
		{User: mailboxUser, ID: id},
		{User: mailboxUser, Campaign: historyCampaigns[2]},
		{User: mailboxUser, Campaign: historyCampaigns[3], Category: historyCategories[1]},
		{User: mailboxUser, Campaign: historyCampaigns[2], ID: id},
		{User: mailboxUser, From: m.now, Until: m.now.Add(26 * time.Hour)},
	}).Draw(t, "wanted")
	wanted.Status = status
	if m.options.WithoutIndex && (wanted.Campaign == "" || wanted.ID != "") {
		_, err := index.Page(t.Context(), wanted, "", 1)
		require.ErrorIs(t, err, find.ErrIndexOff)
		return
	}
	var want, got []string
	for _, known := range m.messages {
		if (wanted.ID == "" || known.id == wanted.ID) && (wanted.Campaign == "" || known.campaign == wanted.Campaign) &&
			(wanted.Category == "" || known.category == wanted.Category) && (status == "" || known.status() == status) &&
			!known.at.Before(wanted.From) && (wanted.Until.IsZero() || known.at.Before(wanted.Until)) {
			want = append(want, known.id)
		}
	}
	for cursor := ""; ; {
		page, err := index.Page(t.Context(), wanted, cursor, 2)
		require.NoError(t, err)
		for _, message := range page.Messages {
			got = append(got, message.ID)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	require.ElementsMatch(t, want, got, "%+v", wanted)
}

// status returns the word for what became of the message.
func (m *message) status() string {
	switch {
	case m.state != pending:
		return string(m.state)
	case !m.promised.IsZero():
		return "postponed"
	case m.moves > 0 || !m.movesSince.IsZero():
		return "moved"
	default:
		return "scheduled"
	}
}
