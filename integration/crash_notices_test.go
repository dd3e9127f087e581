package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/sendlimit/settings"
	"github.com/sendlimit/sendlimiter/tasks/deliver"
)

const (
	crashTier = "small"
	// crashDaily is how many messages a user may have in a day, in rounds with a daily
	// rule. It is as many as a user gets, so that none is shifted to the next day.
	crashDaily     = 9
	crashDailyRule = "9/calendar_day"
	crashSender    = "alerts@sender.example"
	// crashGus reached a threshold a while ago, and is due to be listed in a digest.
	crashGus       = "gus"
	crashGusBefore = 2 * time.Hour
)

// crashAlertAt returns when users and the account alert, in percent.
func crashAlertAt() []int { return []int{20, 100} }

// crashContacts are the users who have their own contact.
func crashContacts() []string { return []string{"ann", "cleo", "fay"} }

// crashAnnouncer has points around the delivery of a notice.
type crashAnnouncer struct {
	hook *crashHook
	next notifier.Announcer
}

// Announce delivers through the inner announcer.
func (a crashAnnouncer) Announce(ctx context.Context, to string, n notifier.Notice) notifier.Result {
	call := a.hook.before(nil, callAnnounce)
	a.hook.journal.write(crashEvent{Event: eventTells, ID: n.ID})
	result := a.next.Announce(ctx, to, n)
	if result.Uncertain() {
		a.hook.journal.write(crashEvent{Event: eventDoubts, ID: n.ID, Detail: string(result.Reason)})
	}
	a.hook.after(call)
	return result
}

// openMailServer starts the mail server of a round, which rejects the first mail
// temporarily.
func (r *crashRound) openMailServer() {
	r.Helper()
	var err error
	r.mails, err = notifiertest.NewMailServer(r.Context(), notifiertest.MailServerOptions{})
	require.NoError(r, err)
	r.Cleanup(r.mails.Close)
	var asked atomic.Bool
	r.mails.AnswerWith(func(step notifiertest.MailStep) notifiertest.MailAnswer {
		if step == notifiertest.MailFrom && asked.CompareAndSwap(false, true) {
			return notifiertest.MailAnswer{Code: 451, Enhanced: [3]int{4, 3, 2}, Text: "Try again later"}
		}
		return notifiertest.MailAnswer{}
	})
}

// openAccount creates the account that is charged, and sets the contacts of the account
// and of some users.
func (r *crashRound) openAccount() {
	r.Helper()
	directory, err := accounts.New(r.store.client, r.base.Prefix)
	require.NoError(r, err)
	tier := accounts.Tier{Name: crashTier, MessagesPerDay: r.perDay, AlertAt: crashAlertAt()}
	require.NoError(r, directory.SetTier(r.Context(), tier))
	_, err = directory.Create(r.Context(), accounts.Account{
		Name: crashAccount, Tier: crashTier, Contact: "ops@receiver.example",
		ReportAt: time.Now().UTC().Add(-time.Hour).Format("15:04"), // a report is due
	})
	require.NoError(r, err)
	r.ageAccount()
	settings, err := settings.NewUsers(r.store.client, r.base.Prefix)
	require.NoError(r, err)
	for _, user := range crashContacts() {
		require.NoError(r, settings.Set(r.Context(), user, policy.UserSettings{Contact: user + "@receiver.example"}))
	}
}

// ageAccount makes the account older than two days: a new account has no report for the
// days before it.
func (r *crashRound) ageAccount() {
	r.Helper()
	key := r.store.keys.Accounts()
	text, err := r.store.client.HGet(r.Context(), key, crashAccount).Bytes()
	require.NoError(r, err)
	var stored map[string]any
	require.NoError(r, json.Unmarshal(text, &stored))
	require.Contains(r, stored, "created_at")
	stored["created_at"] = time.Now().AddDate(0, 0, -2).UnixMilli()
	text, err = json.Marshal(stored)
	require.NoError(r, err)
	require.NoError(r, r.store.client.HSet(r.Context(), key, crashAccount, text).Err())
}

// leaveNotices leaves a report that the queue never got, and a user for a digest, for a
// worker to find.
func (r *crashRound) leaveNotices() {
	r.Helper()
	r.left = time.Now().UTC()
	outbox, err := notices.New(r.store.client, notices.Options{Prefix: r.base.Prefix})
	require.NoError(r, err)
	put, err := outbox.Put(r.Context(), notices.Notice{
		ID:      notices.FormatID(notices.DailyReport, r.left.Truncate(24*time.Hour).AddDate(0, 0, -3), 0, crashAccount),
		Details: []byte(`{"report":{"sent":1}}`),
	}, time.Time{})
	require.NoError(r, err)
	require.True(r, put)
	require.NoError(r, r.store.client.ZAdd(r.Context(), r.store.gathered(crashGus), redis.Z{
		Score: float64(r.left.Add(-crashGusBefore).UnixMilli()), Member: r.gus(),
	}).Err())
}

// gus returns the entry of crashGus.
func (r *crashRound) gus() string {
	day := r.left.Truncate(24 * time.Hour).UnixMilli()
	return fmt.Sprintf("%d/100/%d/%d/%s/%s", day, crashDaily, crashDaily, r.history.policy.Name, crashGus)
}

// pace sets a pace for the provider that delays nothing.
func (r *crashRound) pace() {
	r.Helper()
	paces, err := rate.NewPaces(r.store.client, r.base.Prefix, deliver.PaceTarget)
	require.NoError(r, err)
	require.NoError(r, paces.Apply(r.Context(), rate.Pace{Rate: perSecond(500), Burst: 100}))
}

// gathered returns the key of those who are listed together with a user.
func (s crashStore) gathered(user string) string { return s.keys.Gathered(keyspace.Partition(user)) }
