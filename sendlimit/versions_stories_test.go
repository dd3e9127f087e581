package sendlimit_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/lua"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// sharedStory is what becomes of messages of alice on a store that programs of two
// versions share. A story that is part of a release's fixture is never changed.
type sharedStory struct {
	policy policy.Policy
	steps  []sharedStep
	ends   []string // "id state" or "id state send-time"
}

// sharedStep is one call of a script.
type sharedStep struct {
	do     func(*sharer)
	status int64 // that the script answers
}

// What scripts answer, see lua/fragments/status.lua, lua/message/claim.lua,
// lua/message/settle.lua and lua/message/renew.lua.
const (
	statusAllowed, statusRefused, statusIDReused, statusTooLate, statusNotFound = 0, 1, 2, 3, 4

	claimSend, claimStale, claimBusy, claimEarly, claimDropped, claimPostponed = 0, 1, 2, 3, 4, 5

	settled, superseded = 1, 0

	renewed = 0
)

// sharer is a program of the present version.
type sharer struct {
	*testing.T

	client   *redis.Client
	recorder *callRecorder
	timeline *sendlimit.Timeline
	gate     *messages.Gate
	watch    *messages.WatchList
	letters  *messages.DeadLetters
}

// begin empties the store and starts a program on it.
func (s sharedStory) begin(t *testing.T, client *redis.Client) *sharer {
	t.Helper()
	require.NoError(t, client.FlushAll(t.Context()).Err())
	recorder := &callRecorder{names: lua.NamesByHash()}
	own := redis.NewClient(client.Options())
	own.AddHook(recorder)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	o := sendlimit.Options{Records: true, Rules: story.RulesBy(t, s.policy)}
	p := &sharer{T: t, client: client, recorder: recorder}
	var err error
	p.timeline, err = sendlimit.NewTimeline(own, o)
	require.NoError(t, err)
	p.gate, err = messages.NewGate(own, o)
	require.NoError(t, err)
	p.watch, err = messages.NewWatchList(own, o)
	require.NoError(t, err)
	p.letters, err = messages.NewDeadLetters(own, o)
	require.NoError(t, err)
	return p
}

// look returns what the present program says of messages.
func (p *sharer) look(ids []string) []string {
	p.Helper()
	found, err := story.RecordsIn(p, p.client, "").Look(p.Context(), "alice", ids...)
	require.NoError(p, err)
	ends := make([]string, len(found))
	for i, m := range found {
		ends[i] = m.ID + " " + m.State.String() + " " + m.SendAt.Format("15:04:05")
		if m.Lateness != 0 {
			ends[i] += " late " + m.Lateness.String()
		}
	}
	return ends
}

func submitting(now, id, when, generation, category string, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		_, err := p.timeline.Reserve(p.Context(), sendlimit.Request{
			User: "alice", ID: id, At: story.Ahead(when), Now: story.Ahead(now), Record: story.Categorized(generation, category),
		})
		require.NoError(p, err)
	}, status}
}

func moving(now, when, generation string, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		_, err := p.timeline.Move(p.Context(), sendlimit.MoveRequest{
			User: "alice", ID: "a", At: story.Ahead(when), Generation: generation, Now: story.Ahead(now),
		})
		require.NoError(p, err)
	}, status}
}

func releasing(now, id string, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		_, err := p.timeline.Release(p.Context(), sendlimit.ReleaseRequest{User: "alice", ID: id, Now: story.Ahead(now)})
		require.NoError(p, err)
	}, status}
}

func claiming(now, generation, nonce string, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		_, err := p.gate.Claim(p.Context(), messages.Delivery{
			User: "alice", ID: "a", Generation: generation, Nonce: nonce,
		}, story.Lease, story.Ahead(now))
		require.NoError(p, err)
	}, status}
}

func settling(now, generation, nonce string, s messages.Settlement, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		_, err := p.gate.Settle(p.Context(), messages.Delivery{
			User: "alice", ID: "a", Generation: generation, Nonce: nonce,
		}, s, story.Ahead(now))
		require.NoError(p, err)
	}, status}
}

func renewing(now, id, generation, following string, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		entry := messages.Watched{User: "alice", ID: id, Generation: generation}
		_, _, err := p.watch.Renew(p.Context(), entry, following, false, story.Ahead(now))
		require.NoError(p, err)
	}, status}
}

func retrying(now, id, generation string, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		_, err := p.letters.Retry(p.Context(), messages.RetryRequest{
			User: "alice", ID: id, Generation: generation, Now: story.Ahead(now),
		})
		require.NoError(p, err)
	}, status}
}

// sharedStories has each story by its name.
func sharedStories(t *testing.T) map[string]sharedStory {
	t.Helper()
	plain, codes := story.PolicyOf(t, "1/minute"), story.WithCodes(t, "1/minute")
	delivered := messages.Settlement{Outcome: messages.Delivered, ProviderID: "provider-7"}
	failed := messages.Settlement{Outcome: messages.Failed, Reason: "gone"}
	uncertain := messages.Settlement{Outcome: messages.Uncertain, Reason: "uncertain"}
	again := messages.Settlement{
		Outcome: messages.Retried, Retry: messages.Retry{Generation: "g2", At: story.Ahead("11:01")}, Reason: "unavailable",
	}
	return map[string]sharedStory{
		"a delivery": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			submitting("10:00", "b", "11:00:01", "g2", "", statusRefused),
			submitting("10:00", "a", "11:00", "g3", "", statusAllowed), // replayed
			claiming("10:00", "g1", "n0", claimEarly),
			claiming("11:00", "g1", "n1", claimSend),
			claiming("11:00", "g1", "n2", claimBusy),
			settling("11:00", "g1", "n1", delivered, settled),
			claiming("11:00", "g1", "n2", claimStale),
			releasing("11:00", "a", statusTooLate),
		}, []string{"a delivered 11:00:00", "b unknown 00:00:00"}},
		"a retry": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			claiming("11:00", "g1", "n1", claimSend),
			settling("11:00", "g1", "n1", again, settled),
			claiming("11:00:30", "g2", "n2", claimEarly),
			claiming("11:01", "g2", "n2", claimSend),
			settling("11:01", "g2", "n2", delivered, settled),
		}, []string{"a delivered 11:01:00 late 1m0s"}},
		"a move and a new timer": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			moving("10:00", "12:00", "g2", statusAllowed),
			claiming("11:00", "g1", "n1", claimStale),
			renewing("11:58", "a", "g2", "g3", renewed), // a version with a horizon looks then
			claiming("12:00", "g2", "n1", claimStale),
			claiming("12:00", "g3", "n1", claimSend),
			settling("12:00", "g3", "n1", uncertain, settled),
		}, []string{"a uncertain 12:00:00"}},
		"a cancellation": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			releasing("10:00", "a", statusAllowed),
			submitting("10:00", "b", "11:00", "g2", "", statusAllowed),
			releasing("10:00", "a", statusAllowed), // replayed
			submitting("10:00", "a", "11:30", "g3", "", statusAllowed),
			claiming("11:00", "g1", "n1", claimStale),
			releasing("10:00", "b", statusAllowed),
		}, []string{"a pending 11:30:00", "b cancelled 11:00:00"}},
		"a lease that runs out": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			claiming("11:00", "g1", "n1", claimSend),
			claiming("11:00:29.999", "g1", "n2", claimBusy),
			claiming("11:00:30", "g1", "n2", claimSend),
			settling("11:00:30", "g1", "n1", delivered, superseded),
			settling("11:00:30", "g1", "n2", failed, settled),
		}, []string{"a uncertain 11:00:30"}},
		"a dead letter": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			claiming("11:00", "g1", "n1", claimSend),
			settling("11:00", "g1", "n1", failed, settled),
			releasing("11:00", "a", statusNotFound),
			retrying("11:10", "a", "g2", statusAllowed),
			claiming("11:10", "g2", "n2", claimSend),
			settling("11:10", "g2", "n2", delivered, settled),
		}, []string{"a delivered 11:10:00"}},
		"a postponement": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			submitting("10:00", "ahead", "11:10", "g2", "", statusAllowed),
			claiming("11:09:30", "g1", "n1", claimPostponed),
			claiming("11:09:30", "g1", "n2", claimStale),
			moving("11:09:30", "13:00", "g3", statusAllowed),
			claiming("13:00", "g3", "n3", claimSend),
			settling("13:00", "g3", "n3", delivered, settled),
		}, []string{"a delivered 13:00:00", "ahead pending 11:10:00"}},
		"an expiry": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			claiming("23 11:00", "g1", "n1", claimDropped),
			submitting("23 11:00", "a", "23 12:00", "g2", "", statusAllowed),
		}, []string{"a pending 12:00:00"}},
		"a message that does not count": {codes, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "code", statusAllowed),
			submitting("10:00", "b", "11:00", "g2", "", statusAllowed),
			moving("10:00", "11:30", "g3", statusAllowed),
			claiming("11:40", "g3", "n1", claimSend),
			settling("11:40", "g3", "n1", failed, settled),
			submitting("11:40", "a", "12:00", "g4", "", statusAllowed),
			submitting("11:40", "c", "12:00", "g5", "", statusRefused),
			releasing("11:40", "a", statusAllowed),
			submitting("11:40", "c", "12:00", "g5", "", statusAllowed),
		}, []string{"a cancelled 12:00:00", "b pending 11:00:00", "c pending 12:00:00"}},
		"an id in use": {plain, []sharedStep{
			submitting("10:00", "a", "11:00", "g1", "", statusAllowed),
			moving("10:00", "12:00", "g2", statusAllowed),
			claiming("12:00", "g2", "n1", claimSend),
			settling("12:00", "g2", "n1", delivered, settled),
			moving("12:00", "13:00", "g3", statusTooLate),
			reusing("12:00", "a", "13:00", "g4", statusIDReused),
		}, []string{"a delivered 12:00:00"}},
	}
}

// reusing submits another message with an id.
func reusing(now, id, when, generation string, status int64) sharedStep {
	return sharedStep{func(p *sharer) {
		_, err := p.timeline.Reserve(p.Context(), sendlimit.Request{
			User: "alice", ID: id, At: story.Ahead(when), Now: story.Ahead(now), Record: story.RecordOf(generation, "another text"),
		})
		require.NoError(p, err)
	}, status}
}
