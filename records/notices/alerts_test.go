package notices_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/notices"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// newAlerts starts a story of alice with a contact.
func newAlerts(t *testing.T, rules ...string) *story.Messages {
	t.Helper()
	s := story.NewMessages(t, rules...)
	setContact(s, "alice", "ada@example.org")
	return s
}

func setContact(s *story.Messages, user, contact string) {
	s.Helper()
	settings := settings.NewUsers(s.Client, keyspace.KeysUnder(""))
	require.NoError(s, settings.Set(s.Context(), user, policy.UserSettings{Contact: contact}))
}

// submitMinutes submits messages on 22 November, one a minute. It returns the
// alerts of the last one.
func submitMinutes(s *story.Messages, from, till int) []string {
	s.Helper()
	var notices []string
	for i := from; i <= till; i++ {
		d := s.Submit("m"+strconv.Itoa(i), fmt.Sprintf("12:%02d", i), "g"+strconv.Itoa(i), "text")
		require.True(s, d.Allowed)
		notices = d.Notices
	}
	return notices
}

// alertOf returns the id of the notice about a user's day.
func alertOf(user, day string, threshold int) string {
	return notices.FormatID(notices.UserQuota, story.At(day), threshold, user)
}

func outbox(s *story.Messages) []string {
	s.Helper()
	ids, err := s.Client.ZRange(s.Context(), story.KeysOf(s.Options).Notices(keyspace.Partition("alice")), 0, -1).Result()
	require.NoError(s, err)
	return ids
}

func TestAlertsAtThresholds(t *testing.T) {
	t.Parallel()
	s := newAlerts(t, "10/calendar_day")
	require.Empty(t, submitMinutes(s, 1, 7))
	first, second := alertOf("alice", "00:00", 80), alertOf("alice", "00:00", 100)
	require.Equal(t, []string{first}, submitMinutes(s, 8, 8))
	require.Empty(t, submitMinutes(s, 9, 9))
	require.Equal(t, []string{second}, submitMinutes(s, 10, 10))
	require.ElementsMatch(t, []string{first, second}, outbox(s))

	fields, err := s.Client.HGetAll(t.Context(), story.KeysOf(s.Options).Notice("alice", first)).Result()
	require.NoError(t, err)
	var extra map[string]string
	require.NoError(t, json.Unmarshal([]byte(fields["x"]), &extra))
	require.Equal(t, map[string]string{"policy": "test", "zone": "UTC", "rule": "10/calendar_day"}, extra)
	delete(fields, "x")
	require.Equal(t, map[string]string{
		"k": "user_quota", "s": "alice", "d": strconv.FormatInt(story.At("00:00").UnixMilli(), 10), "h": "80", "u": "8", "l": "10",
	}, fields)

	flag := story.KeysOf(s.Options).Alert(keyspace.AlertOfUser, "alice", story.At("00:00").UnixMilli())
	require.Equal(t, 54*time.Hour, s.Server.TTL(flag), "30 hours past the end of the day")
}

// Without anybody to alert there is no flag and no notice.
func TestNobodyToAlert(t *testing.T) {
	t.Parallel()
	s := story.NewMessages(t, "10/calendar_day")
	require.Empty(t, submitMinutes(s, 1, 10))
	for _, key := range s.Server.Keys() {
		require.NotContains(t, key, "alert")
		require.NotContains(t, key, "notice")
		require.NotContains(t, key, "gathered")
	}
}

// A claim raises its alerts before it writes records. If that fails, as somebody put another type
// under the alert's key, the repeated claim sends the message, and no other delivery does. What was
// placed with it goes out by its own task.
func TestAClaimWhoseAlertFailsIsRepeated(t *testing.T) {
	t.Parallel()
	s := newAlerts(t, "10/calendar_day")
	s.Submit("y1", "23:50", "y1", "text")
	s.Submit("y2", "23:51", "y2", "text")
	for i := range 7 {
		require.Empty(t, s.Submit("m"+strconv.Itoa(i), fmt.Sprintf("23 12:%02d", i), "g"+strconv.Itoa(i), "text").Notices)
	}
	s.Until("23 09:00")
	flag := story.KeysOf(s.Options).Alert(keyspace.AlertOfUser, "alice", story.At("23 00:00").UnixMilli())
	_, err := s.Server.Push(flag, "no number")
	require.NoError(t, err)
	delivery := messages.Delivery{User: "alice", ID: "y1", Generation: "y1", Nonce: "n1"}
	_, err = s.Gate.Claim(t.Context(), delivery, story.Lease, time.Time{})
	require.ErrorContains(t, err, "WRONGTYPE")
	s.Server.Del(flag)

	again := s.Claim("y1", "y1", "n1")
	require.Equal(t, messages.Send, again.Verdict)
	require.Equal(t, messages.Busy, s.Claim("y1", "y1", "n2").Verdict)
	require.Equal(t, messages.Send, s.Claim("y2", "y2", "n3").Verdict)
	require.Equal(t, "23 09:00", s.Look("y2").SendAt.Format("02 15:04"))
	require.Len(t, story.WatchedOf(t, s.Client, story.KeysOf(s.Options), "alice"), 9)
	require.True(t, s.Settle("y1", "y1", "n1", messages.Settlement{Outcome: messages.Delivered}))
	require.Equal(t, messages.StateDelivered, s.Look("y1").State)
}

func TestConcurrentSubmittersAlertOnce(t *testing.T) {
	t.Parallel()
	s := newAlerts(t, "10/calendar_day")
	var group sync.WaitGroup
	raised := make([][]string, 100)
	for i := range raised {
		group.Go(func() {
			d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
				User: "alice", ID: strconv.Itoa(i), At: story.At("12:00").Add(time.Duration(i) * time.Second),
				Record: story.RecordOf("g"+strconv.Itoa(i), "text"),
			})
			if err == nil {
				raised[i] = d.Notices
			}
		})
	}
	group.Wait()
	var all []string
	for _, notices := range raised {
		all = append(all, notices...)
	}
	require.ElementsMatch(t, []string{alertOf("alice", "00:00", 80), alertOf("alice", "00:00", 100)}, all)
	require.ElementsMatch(t, all, outbox(s))
}

// Users with a contact get notices. The policy's address gets all users
// together.
func TestGatheredForThePolicy(t *testing.T) {
	t.Parallel()
	policy := story.PolicyOf(t, "1/minute", "10/calendar_day")
	policy.AlertTo = "ops@example.com"
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, policy)})
	require.Empty(t, submitMinutes(s, 1, 10), "there is no contact of her own")
	gathered, err := s.Client.ZRangeWithScores(t.Context(), story.KeysOf(s.Options).Gathered(keyspace.Partition("alice")), 0, -1).Result()
	require.NoError(t, err)
	day := strconv.FormatInt(story.At("00:00").UnixMilli(), 10)
	now := float64(s.Now.UnixMilli())
	require.ElementsMatch(t, []redis.Z{
		{Member: day + "/80/8/10/test/alice", Score: now}, {Member: day + "/100/10/10/test/alice", Score: now},
	}, gathered)
	require.Empty(t, outbox(s))
}

// A dry run raises no alert and writes nothing.
func TestADryRunAlertsNobody(t *testing.T) {
	t.Parallel()
	policy := story.PolicyOf(t, "2/calendar_day")
	policy.AlertTo = "ops@example.com"
	s := story.TellMessages(t, sendlimit.Options{Rules: story.RulesBy(t, policy)})
	setContact(s, "alice", "ada@example.org")
	before := s.Server.Keys()
	run := s.Timeline.StartDryRun(s.Client)
	for i, when := range []string{"12:00", "13:00"} {
		d, err := run.Reserve(t.Context(), sendlimit.Request{
			User: "alice", ID: strconv.Itoa(i), At: story.At(when), Record: story.RecordOf("g", "text"),
		})
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.Empty(t, d.Notices)
	}
	require.NoError(t, run.Close(t.Context()))
	require.Equal(t, before, s.Server.Keys())
}

// Names may contain the separators of keys.
func TestAlertsOfUsersWithUnusualNames(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"a:b", "u:x", "a/b", "{p0001}:u:x", "}:", "ö \"q\" <b>", strings.Repeat("x", 256)} {
		s := story.NewMessages(t, "1/calendar_day")
		setContact(s, user, "https://example.org/hook")
		d, err := s.Timeline.Reserve(t.Context(), sendlimit.Request{
			User: user, ID: "a", At: story.At("12:00"), Record: story.RecordOf("a", "text"),
		})
		require.NoError(t, err)
		require.Equal(t, []string{alertOf(user, "00:00", 100)}, d.Notices, user)
		parsed, ok := notices.ParseID(d.Notices[0])
		require.True(t, ok)
		require.Equal(t, user, parsed.Subject)
		require.True(t, s.Server.Exists(story.KeysOf(s.Options).Notice(user, d.Notices[0])))
		require.True(t, s.Server.Exists(story.KeysOf(s.Options).Alert(keyspace.AlertOfUser, user, story.At("00:00").UnixMilli())))
	}
}

// A past day raises no alert, even if its sends are recorded only now.
func TestImportsOfADayThatIsOverAlertNobody(t *testing.T) {
	t.Parallel()
	s := newAlerts(t, "1/calendar_day")
	s.Until("23 01:00")
	record := func(id, when string) []string {
		recorded, err := s.Timeline.RecordSent(t.Context(), sendlimit.SentRequest{
			User: "alice", ID: id, At: story.At(when), Record: story.RecordOf(id, "text"),
		})
		require.NoError(t, err)
		require.False(t, recorded.Forgotten)
		return recorded.Notices
	}
	require.Empty(t, record("a", "22 12:00"))
	require.Equal(t, []string{alertOf("alice", "23 00:00", 100)}, record("b", "23 00:30"))
}
