package sendlimittest

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/find"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// indexed says in which part of a list of the index each entry is, by its member. Entries of
// others are only counted.
type indexed struct {
	parts  map[string]int
	others int // in the head
}

// inHead returns how many entries the head has.
func (x indexed) inHead() int {
	n := x.others
	for _, part := range x.parts {
		if part == 0 { // the head
			n++
		}
	}
	return n
}

// crowd fills the heads of the index with entries of others, or empties them: the next
// messages find room in the head, or do not.
func (m *mailbox) crowd(t *rapid.T) {
	others := rapid.SampledFrom([]int{0, keyspace.IndexHead - 3, keyspace.IndexHead - 1, keyspace.IndexHead}).Draw(t, "others")
	partition := keyspace.Partition(mailboxUser)
	for list, now := range map[string]*indexed{m.keys.IDs(partition, 0): &m.ids, m.keys.Campaigns(partition, 0): &m.campaigns} {
		own := now.inHead() - now.others
		for ; now.others < others-own; now.others++ {
			entry := redis.Z{Score: float64(now.others), Member: keyspace.IndexMember("other", strconv.Itoa(now.others))}
			require.NoError(t, m.client.ZAdd(t.Context(), list, entry).Err())
		}
		for ; now.others > max(others-own, 0); now.others-- {
			require.NoError(t, m.client.ZRem(t.Context(), list, keyspace.IndexMember("other", strconv.Itoa(now.others-1))).Err())
		}
	}
}

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
	var inIDs, inCampaigns [keyspace.IndexParts]*redis.ZSliceCmd
	_, err := m.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for part := range keyspace.IndexParts {
			inIDs[part] = pipe.ZRangeWithScores(t.Context(), m.keys.IDs(partition, part), 0, -1)
			inCampaigns[part] = pipe.ZRangeWithScores(t.Context(), m.keys.Campaigns(partition, part), 0, -1)
		}
		return nil
	})
	require.NoError(t, err)
	m.ids.inspect(t, ids, inIDs)
	m.campaigns.inspect(t, campaigns, inCampaigns)
}

// inspect requires that the parts of a list have the wanted entries, each where it was before
// or, if it is new, in the head while there is room.
func (x *indexed) inspect(t *rapid.T, wanted map[string]int64, parts [keyspace.IndexParts]*redis.ZSliceCmd) {
	found, others, added := make(map[string]int64), 0, 0
	now := make(map[string]int)
	for part, read := range parts {
		for _, e := range read.Val() {
			member, ok := e.Member.(string)
			require.True(t, ok)
			user, id, ok := keyspace.ParseIndexMember(member)
			require.True(t, ok, member)
			if user != mailboxUser {
				require.Zero(t, part, member)
				others++
				continue
			}
			require.NotContains(t, found, member, "it has one entry")
			first, other := keyspace.IndexPartsOf(user, id)
			require.Contains(t, []int{first, other}, part, member)
			if former, ok := x.parts[member]; ok {
				require.Equal(t, former, part, "an entry stays in its part: %s", member)
			} else {
				added++
			}
			found[member], now[member] = int64(e.Score), part
		}
	}
	require.Equal(t, wanted, found)
	require.Equal(t, x.others, others)
	lost := len(x.parts)+added > len(now)
	room := keyspace.IndexHead - x.inHead()
	x.parts = now
	if lost { // before or after others came
		require.LessOrEqual(t, x.inHead(), keyspace.IndexHead)
		return
	}
	require.Equal(t, keyspace.IndexHead-max(room-added, 0), x.inHead(), "new entries go to the head while it has room")
}

// find lists messages by a common property, in pages.
func (m *mailbox) find(t *rapid.T) {
	index := find.NewIndex(m.client, keyspace.KeysUnder(m.options.Options.Prefix), m.options.Options.WithoutIndex)
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

// status returns the word for the state of the message.
func (m *message) status() string {
	switch {
	case m.state != pending:
		return string(m.state)
	case !m.promised.IsZero():
		return "postponed"
	case m.moved:
		return "moved"
	default:
		return "scheduled"
	}
}
