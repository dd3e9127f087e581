package notifiertest

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notice"
)

// AnnouncerSuite makes an announcer in three situations, each with a contact. All fields
// but Secrets are required. A function is called once for each test that needs it, and
// cleans up with t.Cleanup.
type AnnouncerSuite struct {
	New     func(t *testing.T) (notifier.Announcer, string) // its provider accepts everything
	Failing func(t *testing.T) (notifier.Announcer, string) // its provider refuses everything
	Stuck   func(t *testing.T) (notifier.Announcer, string) // its provider never answers a notice
	// Secrets are parts of the settings and of the contacts that no error may show.
	Secrets []string
}

// RunAnnouncer tests the promises of package notifier about every Announcer.
func RunAnnouncer(t *testing.T, s AnnouncerSuite) {
	t.Helper()
	t.Run("delivers every kind with any names", s.delivers)
	t.Run("is safe for concurrent use", s.concurrent)
	t.Run("gives a reason when it did not deliver", s.refused)
	t.Run("sends nothing when its context has ended", s.ended)
	t.Run("returns when its context ends", s.stuck)
}

func (s AnnouncerSuite) delivers(t *testing.T) {
	t.Parallel()
	announcer, to := s.New(t)
	for name, n := range Notices() {
		result := announcer.Announce(t.Context(), to, n)
		requireSound(t, result, s.Secrets)
		require.Equal(t, notifier.Delivered, result.Status, "%s: %v", name, result.Err)
	}
}

func (s AnnouncerSuite) concurrent(t *testing.T) {
	t.Parallel()
	announcer, to := s.New(t)
	results := make([]notifier.Result, parallel)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			n := Notices()["account"]
			n.ID += strconv.Itoa(i)
			results[i] = announcer.Announce(t.Context(), to, n)
		})
	}
	all.Wait()
	for _, result := range results {
		requireSound(t, result, s.Secrets)
		require.Equal(t, notifier.Delivered, result.Status, "%v", result.Err)
	}
}

func (s AnnouncerSuite) refused(t *testing.T) {
	t.Parallel()
	announcer, to := s.Failing(t)
	result := announcer.Announce(t.Context(), to, Notices()["account"])
	requireSound(t, result, s.Secrets)
	require.NotEqual(t, notifier.Delivered, result.Status)
	require.False(t, result.Uncertain(), "there was an answer")
}

func (s AnnouncerSuite) ended(t *testing.T) {
	t.Parallel()
	announcer, to := s.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result := announcer.Announce(ctx, to, Notices()["account"])
	requireSound(t, result, s.Secrets)
	require.Equal(t, notifier.Retry, result.Status)
	require.False(t, result.Uncertain(), "nothing was sent")
}

func (s AnnouncerSuite) stuck(t *testing.T) {
	t.Parallel()
	announcer, to := s.Stuck(t)
	// Long enough for a session to reach the answer that never comes.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	result := within(t, patience, func() notifier.Result { return announcer.Announce(ctx, to, Notices()["account"]) })
	requireSound(t, result, s.Secrets)
	require.Equal(t, notifier.Retry, result.Status)
	require.True(t, result.Uncertain(), "it may have arrived: %v", result.Err)
}

// Notices returns one notice of each kind and some edge cases, by name: "account", "user",
// "digest", "report", "event" and others.
func Notices() map[string]notifier.Notice {
	const day = "2026-11-22"
	account := notifier.Notice{
		ID: "account_quota/1795305600000/80/acme-" + canary, Kind: notifier.NoticeAccountQuota, Subject: "acme-" + canary,
		Threshold: 80, Used: 8_000, Limit: 10_000, Day: day, TimeZone: "Europe/Berlin",
	}
	user := notifier.Notice{
		ID: "user_quota/1795305600000/100/alice-" + canary, Kind: notifier.NoticeUserQuota, Subject: "alice-" + canary,
		Threshold: 100, Used: 10, Limit: 10, Day: day, Rule: "10/calendar_day", Policy: "default",
	}
	digest := notifier.Notice{
		ID: "user_quota_digest/1795305600000/default", Kind: notifier.NoticeUserQuotaDigest, Subject: "default", Policy: "default",
		Users: []notifier.UserQuota{
			{User: "alice-" + canary, Threshold: 100, Used: 10, Limit: 10, Day: day},
			{User: HostileName, Threshold: 80, Used: 8, Limit: 10, Day: day},
		},
		More: 1_234,
	}
	report := notifier.Notice{
		ID: "daily_report/1795305600000/acme-" + canary, Kind: notifier.NoticeDailyReport, Subject: "acme-" + canary, Day: day,
		Report: &notifier.Report{
			Sent: 7_912, Dropped: 3, Late: 17, Accepted: 8_204, Refused: map[string]int64{"1/minute": 96, "quota_exceeded": 4},
		},
	}
	hostile := user
	hostile.ID, hostile.Subject = "user_quota/1795305600000/100/"+HostileName, HostileName
	hostile.Rule, hostile.Policy, hostile.TimeZone = HostileName, HostileName, HostileName
	empty := report
	empty.ID, empty.Report = empty.ID+"/empty", &notifier.Report{}
	event := notifier.Notice{
		ID: "event_limit/1795305600000/80@500/submit/acme-" + canary, Kind: notifier.NoticeEventLimit, Subject: "submit/acme-" + canary,
		Threshold: 80, Used: 400, Limit: 500, Day: day, Rule: "500/calendar_day",
		Event: "submit", Key: "acme-" + canary, Since: "2026-11-22T00:00:00Z", Until: "2026-11-23T00:00:00Z",
	}
	hostileEvent := event
	hostileEvent.ID, hostileEvent.Key, hostileEvent.Subject = "event_limit/1795305600000/80@500/submit/"+HostileName, HostileName, "submit/"+HostileName
	hostileEvent.Rule, hostileEvent.TimeZone, hostileEvent.Since, hostileEvent.Until = HostileName, HostileName, HostileName, HostileName
	callback := notifier.Notice{
		ID: "callback_changed/1795305600000/acme-" + canary, Kind: notifier.NoticeCallbackChanged, Subject: "acme-" + canary, Day: day,
		Change: notice.CallbackSet, Host: HostileName, Since: "2026-11-22T00:00:00Z",
	}
	key := callback
	key.ID, key.Kind = "keys_changed/1795305600000/acme-"+canary, notifier.NoticeKeysChanged
	key.Change, key.Host, key.Scopes = notice.KeyAdded, "", []string{HostileName}
	return map[string]notifier.Notice{
		"callback": callback, "key": key, "event": event, "hostile event": hostileEvent,
		"account": account, "user": user, "digest": digest, "report": report, "hostile": hostile, "empty report": empty,
	}
}

// HostileName tries to inject a header, a line, an element, a directive and an attribute.
// It has umlauts, quotes and invalid UTF-8.
const HostileName = "Jörg \"Q\" O'Neil\r\nBcc: victim@example.com\r\n\r\n.\r\nMAIL FROM:<x@example.com>\n" +
	"<script>alert(1)</script><b onclick=\"x\">\u2028{{.Name}}\u202E\x00\xff" + canary
