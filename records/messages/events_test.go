package messages_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// heardStory is a story of alice's messages that somebody may listen to.
type heardStory struct {
	*story.Messages

	subscribers *sendlimit.Subscribers
	dead        *messages.DeadLetters
}

func tellHeard(t *testing.T, accounts ...string) *heardStory {
	t.Helper()
	o := sendlimit.Options{Rules: story.RulesBy(t, story.PolicyOf(t, "1/minute")), Subscribers: sendlimit.NewSubscribers(96 * time.Hour)}
	s := &heardStory{Messages: story.TellMessages(t, o), subscribers: o.Subscribers}
	listeners := events.NewListeners(s.Client, keyspace.KeysUnder(""))
	for _, account := range accounts {
		require.NoError(t, listeners.Listen(t.Context(), account, story.At("18:00")))
	}
	listening, err := listeners.Load(t.Context())
	require.NoError(t, err)
	s.subscribers.Set(listening.Accounts())
	o.Records = true
	s.dead, err = messages.NewDeadLetters(s.Client, o)
	require.NoError(t, err)
	return s
}

// charged submits a message that an account is charged for.
func (s *heardStory) charged(id, when, account string) {
	s.Helper()
	hold := &sendlimit.Hold{Account: account, Attempt: keyspace.NewToken(), NotAfter: s.Now.Add(time.Minute)}
	d := s.Ask(sendlimit.Request{ID: id, At: story.At(when), Record: story.RecordOf("g-"+id, "text"), Hold: hold})
	require.True(s, d.Allowed, "%+v", d)
}

// tellAll makes every change to messages that there is. It repeats each call, as a client does
// that got no answer.
func (s *heardStory) tellAll() {
	s.Helper()
	for i, id := range []string{"sent", "gone", "doubt", "old", "off", "other"} {
		s.charged(id, story.At("11:00").Add(time.Duration(i)*time.Minute).Format("15:04"), "acme")
	}
	s.Until("11:00")
	deliver := func(id string, settlement messages.Settlement) {
		s.Helper()
		generation := s.Field(id, "g")
		require.Equal(s, messages.Send, s.Claim(id, generation, "n-"+id).Verdict)
		require.True(s, s.Settle(id, generation, "n-"+id, settlement))
		require.True(s, s.Settle(id, generation, "n-"+id, settlement))
	}
	deliver("sent", messages.Settlement{Outcome: messages.Delivered, ProviderID: "p-1", Began: s.Now})
	s.Until("11:01")
	deliver("gone", messages.Settlement{Outcome: messages.Failed, Reason: "refused"})
	s.Until("11:02")
	deliver("doubt", messages.Settlement{Outcome: messages.Uncertain, Reason: "no_answer"})
	hold := &sendlimit.Hold{Account: "acme", Attempt: keyspace.NewToken(), NotAfter: s.Now.Add(time.Minute)}
	hold.Former = strings.Fields(s.Field("off", "y"))[1]
	for range 2 {
		d, err := s.Timeline.Release(s.Context(), sendlimit.ReleaseRequest{User: "alice", ID: "off", Hold: hold, From: story.At("11:04")})
		require.NoError(s, err)
		require.True(s, d.Allowed)
	}
	hold = &sendlimit.Hold{Account: "acme", Attempt: keyspace.NewToken(), NotAfter: s.Now.Add(time.Minute)}
	hold.Former = strings.Fields(s.Field("other", "y"))[1]
	for range 2 {
		d, err := s.Timeline.Move(s.Context(), sendlimit.MoveRequest{
			User: "alice", ID: "other", At: story.At("13:00"), Generation: "g-moved", Hold: hold, From: story.At("11:05"),
		})
		require.NoError(s, err)
		require.True(s, d.Allowed)
	}
	for range 2 {
		d, err := s.dead.Retry(s.Context(), messages.RetryRequest{User: "alice", ID: "gone", Generation: "again"})
		require.NoError(s, err)
		require.True(s, d.Allowed)
	}
	s.Until("11:10")
	for range 2 {
		s.Claim("old", s.Field("old", "g"), "n-old") // late, and so is the one tried again
	}
	s.Wait(25 * time.Hour)
	for range 2 {
		s.Claim("gone", s.Field("gone", "g"), "n-gone-2")
	}
}

// noted lists the events in the partition, as "type id account reason".
func (s *heardStory) noted() []string {
	s.Helper()
	var noted []string
	for _, e := range s.written() {
		words := slices.DeleteFunc([]string{string(e.Type), e.MessageID, e.Account, e.Reason, e.ProviderID}, func(word string) bool { return word == "" })
		noted = append(noted, strings.Join(words, " "))
	}
	return noted
}

// written returns the events in the partition.
func (s *heardStory) written() []events.Event {
	s.Helper()
	key := story.KeysOf(s.Options).PartitionEvents(keyspace.Partition("alice"))
	entries, err := s.Client.XRange(s.Context(), key, "-", "+").Result()
	require.NoError(s, err)
	written, err := events.Parse(entries, "reading what scripts wrote")
	require.NoError(s, err)
	return written
}

// If nobody listens, nothing at all is written for it.
func TestNoEventWithoutAListener(t *testing.T) {
	t.Parallel()
	s := tellHeard(t)
	s.tellAll()
	require.False(t, slices.ContainsFunc(s.Server.Keys(), func(key string) bool { return strings.Contains(key, "event") }), s.Server.Keys())
	require.Empty(t, s.subscribers.Take())
}

func TestNoEventForAnotherListener(t *testing.T) {
	t.Parallel()
	s := tellHeard(t, "acm", "acme2", "cme")
	s.tellAll()
	require.Empty(t, s.noted())
}

func TestEveryChangeIsAnEvent(t *testing.T) {
	t.Parallel()
	for _, listens := range [][]string{{"acme"}, {"*"}, {"another", "acme", "third"}} {
		s := tellHeard(t, listens...)
		s.tellAll()
		require.Equal(t, []string{
			"delivered sent acme p-1", "failed gone acme refused", "uncertain doubt acme no_answer", "cancelled off acme",
			"moved other acme", "moved gone acme retried", "postponed gone acme late 1 60000", "dropped gone acme expired",
		}, s.noted())
		require.Equal(t, []int{keyspace.Partition("alice")}, s.subscribers.Take())
		require.Empty(t, s.subscribers.Take())
	}
}

// An event has what the receiver needs to know about the message.
func TestAnEventHasWhatItsMessageHas(t *testing.T) {
	t.Parallel()
	s := tellHeard(t, "acme")
	s.charged("a", "11:00", "acme")
	record := story.KeysOf(s.Options).Record("alice", "a")
	metadata := `{"order":"` + strings.Repeat("17\n", 20) + `"}` // opaque
	s.Server.HSet(record, "C", "sale", "M", metadata[:64], "N", metadata[64:])
	s.Until("11:00")
	require.Equal(t, messages.Send, s.Claim("a", "g-a", "n1").Verdict)
	const provider = "p-1\n\x1fof a \"provider\""
	require.True(t, s.Settle("a", "g-a", "n1", messages.Settlement{Outcome: messages.Delivered, ProviderID: provider, Began: s.Now}))
	written := s.written()
	require.Len(t, written, 1)
	require.Equal(t, events.Event{
		ID: written[0].ID, Type: events.Delivered, Account: "acme", User: "alice", MessageID: "a", At: s.Now, SendAt: story.At("11:00"),
		Attempt: 1, ProviderID: provider, Campaign: "sale", Metadata: json.RawMessage(metadata),
	}, written[0])
	require.Equal(t, 96*time.Hour, s.Server.TTL(story.KeysOf(s.Options).PartitionEvents(keyspace.Partition("alice"))))
}

// Many accounts are not looked for one by one.
func TestAScriptGetsFewNames(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	listeners := events.NewListeners(client, keyspace.KeysUnder(""))
	subscribers := sendlimit.NewSubscribers(events.DefaultKeep)
	require.Empty(t, subscribers.Argument())
	argument := func(accounts int) string {
		for i := range accounts {
			require.NoError(t, listeners.Listen(t.Context(), "a"+string(rune('a'+i/10))+string(rune('0'+i%10)), time.Now().Add(time.Hour)))
		}
		listening, err := listeners.Load(t.Context())
		require.NoError(t, err)
		subscribers.Set(listening.Accounts())
		return subscribers.Argument()
	}
	require.Equal(t, "259200000 aa0 aa1 ", argument(2))
	require.Len(t, strings.Fields(argument(64)), 1+64)
	require.Equal(t, "259200000 * ", argument(65))
	require.NoError(t, client.Del(t.Context(), keyspace.KeysUnder("sl").Listeners()).Err())
	require.Empty(t, argument(0))
	var nobody *sendlimit.Subscribers
	require.Empty(t, nobody.Argument())
	nobody.Note("alice")
}
