package sendlimittest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// inspect compares the store with the model.
func (m *mailbox) inspect(t *rapid.T) {
	list, err := m.timeline.List(t.Context(), sendlimit.ListRequest{User: mailboxUser, Now: m.now})
	require.NoError(t, err)
	require.Equal(t, m.listed().reservations(), list)

	kept := m.kept(t)
	watched, letters := make(map[string]time.Time), make(map[string]time.Time)
	for id, known := range m.messages {
		if known.isOpen() {
			watched[keyspace.WatchMember(mailboxUser, id, known.generation())] = known.lookAt
		}
		if known.deadLetter() {
			letters[keyspace.DeadLetterMember(mailboxUser, id)] = known.ended
		}
		m.inspectRecord(t, known, kept[id])
	}
	m.inspectWatched(t, watched)
	m.inspectDeadLetters(t, letters)
	m.inspectTimeline(t)
	m.inspectEvents(t)
	m.inspectIndex(t)
}

// inspectWatched requires entries of the watch list, each in its own list.
func (m *mailbox) inspectWatched(t *rapid.T, wanted map[string]time.Time) {
	near, far := m.scores(t, m.keys.Near(mailboxUser)), make(map[string]time.Time)
	for id, known := range m.messages {
		if !known.isOpen() || !known.far {
			continue
		}
		maps.Copy(far, m.scores(t, m.keys.Far(mailboxUser, id)))
	}
	for member := range far {
		_, id, _, ok := keyspace.ParseWatchMember(member)
		require.True(t, ok && m.messages[id].far, member)
		require.NotContains(t, near, member)
	}
	maps.Copy(near, far)
	require.Equal(t, wanted, near)
}

// listed returns the places that count and those of pending messages.
func (m *mailbox) listed() timeline {
	counted := cut(m.now) - m.model.remembered
	return slices.DeleteFunc(m.places(), func(e entry) bool {
		known := m.messages[e.id]
		return e.at < counted && (known == nil || !known.isOpen())
	})
}

// scores reads a sorted set of times.
func (m *mailbox) scores(t *rapid.T, key string) map[string]time.Time {
	entries, err := m.client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
	require.NoError(t, err)
	scores := make(map[string]time.Time)
	for _, e := range entries {
		member, ok := e.Member.(string)
		require.True(t, ok)
		scores[member] = moment(int64(e.Score))
	}
	return scores
}

// kept is a message in the store.
type kept struct {
	record  *redis.MapStringStringCmd
	expires *redis.DurationCmd
}

// kept reads all known messages from the store, in one round trip.
func (m *mailbox) kept(t *rapid.T) map[string]kept {
	all := make(map[string]kept)
	_, err := m.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for id := range m.messages {
			key := m.keys.Record(mailboxUser, id)
			all[id] = kept{record: pipe.HGetAll(t.Context(), key), expires: pipe.PTTL(t.Context(), key)}
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

// inspectRecord compares a message's record with the model.
func (m *mailbox) inspectRecord(t *rapid.T, known *message, k kept) {
	r := k.record.Val()
	fields := map[string]string{
		"g": known.generation(), "s": known.state.letter(), "t": stored(known.at), "p": stored(known.promised),
		"r": stored(known.requested), "x": stored(known.expires),
		"k": known.category, "D": known.progressField(), "C": known.campaign, "i": known.words, "z": setFlag(known.uncounted), "d": stored(known.movesSince), "j": "",
	}
	if known.moves > 0 {
		fields["j"] = strconv.Itoa(known.moves)
	}
	for k := range 8 {
		fields[chunkField(k)] = "" // erased when the message ends
	}
	for k, chunk := range chunksOf(known.metadata) {
		fields[metadataField(k)] = chunk
	}
	if known.isOpen() || known.deadLetter() || known.state == delivered && m.options.KeepContent {
		for k, chunk := range chunksOf(known.content) {
			fields[chunkField(k)] = chunk
		}
	}
	if !known.isOpen() {
		fields["e"] = stored(known.ended)
	}
	if known.state == pending {
		fields["a"], fields["b"] = stored(known.notBefore), stored(known.waits)
	}
	if known.isOpen() {
		fields["q"] = setFlag(known.doubt)
	}
	fields["W"] = known.local
	fields["X"], fields["E"] = setFlag(known.replaced), setFlag(known.edited)
	fields["v"], fields["l"] = "", ""
	if known.state == sending && known.grace.looks > 0 {
		fields["v"], fields["l"] = strconv.Itoa(known.grace.looks), stored(known.grace.last)
	}
	if known.state == pending && known.reason == "" && known.reasons == nil {
		fields["w"] = ""
	}
	if known.reason != "" {
		fields["w"] = known.reason
	}
	if known.reasons != nil {
		require.Contains(t, known.reasons, r["w"], "of %+v", *known)
	}
	if known.attempts > 0 {
		fields["n"] = strconv.Itoa(known.attempts)
	}
	fields["A"], fields["H"] = stored(known.accepted), ""
	if len(known.history) > 0 {
		fields["H"] = strconv.Itoa(len(known.history))
	}
	m.inspectHistory(t, known, r)
	for name, value := range fields {
		require.Equal(t, value, r[name], "field %s of %+v", name, *known)
		_, has := r[name]
		require.Equal(t, value != "", has, "field %s of %+v", name, *known)
	}
	require.Equal(t, known.isOpen(), k.expires.Val() < 0, "a record expires once the message has ended: %+v", *known)
}

// setFlag spells a flag of a record.
func setFlag(set bool) string {
	if set {
		return "1"
	}
	return ""
}

// chunksOf splits a content as records have it: a long one is in one piece.
func chunksOf(content string) []string {
	if len(content) > 512 {
		return []string{content}
	}
	var chunks []string
	for ; len(content) > 64; content = content[64:] {
		chunks = append(chunks, content[:64])
	}
	return append(chunks, content)
}

// chunkField names the field of a record that has a chunk of the content, counted from 0.
func chunkField(k int) string {
	if k == 0 {
		return "c"
	}
	return strconv.Itoa(k)
}

// metadataField names the field of a record that has a chunk of the metadata, counted from 0.
func metadataField(k int) string { return string("MNOPQRST"[k]) }

// stored spells a time as records do, "" for the zero time.
func stored(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return strconv.FormatInt(cut(at), 10)
}

// inspectDeadLetters requires an entry for every dead letter. Other entries must
// be of messages that are no dead letters any more. Readers skip those.
func (m *mailbox) inspectDeadLetters(t *rapid.T, wanted map[string]time.Time) {
	found := m.scores(t, m.keys.DeadLettersOf(mailboxUser))
	for member, ended := range wanted {
		require.Equal(t, ended, found[member], "dead letter %s", member)
	}
	for member := range found {
		user, id, ok := keyspace.ParseDeadLetterMember(member)
		require.True(t, ok, member)
		require.Equal(t, mailboxUser, user)
		require.Contains(t, m.messages, id)
	}
}

// inspectTimeline compares the keys of the timeline. They have the places of all
// pending messages, however late. Places that do not count have their own key.
func (m *mailbox) inspectTimeline(t *rapid.T) {
	m.inspectPlaces(t, m.keys.Timeline(mailboxUser), false)
	m.inspectPlaces(t, m.keys.Uncounted(mailboxUser), true)
	m.inspectCategories(t)
}

// inspectCategories requires that the set of each category has all places that count
// and are of it, and no place of an open message of another one.
func (m *mailbox) inspectCategories(t *rapid.T) {
	for _, category := range historyCategories[1:] {
		found := m.scores(t, m.keys.Category(mailboxUser, category))
		for _, e := range m.remembered() {
			if e.category == category && !e.uncounted {
				require.Equal(t, moment(e.at), found[e.id], "%s in %s", e.id, category)
			} else {
				require.NotContains(t, found, e.id, category)
			}
		}
	}
}

func (m *mailbox) inspectPlaces(t *rapid.T, key string, uncounted bool) {
	found := m.scores(t, key)
	lasts := time.Time{}
	for _, e := range m.remembered() {
		if e.uncounted != uncounted {
			require.NotContains(t, found, e.id, "it is in the other key")
			continue
		}
		require.Equal(t, moment(e.at), found[e.id])
		lasts = moment(e.at + m.model.remembered)
	}
	for id, known := range m.messages {
		if !known.isOpen() || known.uncounted != uncounted {
			continue
		}
		require.Equal(t, known.at, found[id], "the place of %+v", *known)
		if expiry := known.expiry(m.options.ExpireAfter); expiry.After(lasts) {
			lasts = expiry
		}
	}
	if lasts.IsZero() {
		return
	}
	expires, err := m.client.PExpireTime(t.Context(), key).Result()
	require.NoError(t, err)
	require.GreaterOrEqual(t, expires.Milliseconds(), cut(lasts), "the timeline lives as long as what is in it")
}
