package integration_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/notices"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// waiting counts the notices about the subjects that have not ended.
func (s crashStore) waiting(t *testing.T, subjects ...string) int {
	t.Helper()
	counts := make(map[string]*redis.IntCmd)
	_, err := s.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		for _, subject := range subjects {
			key := s.keys.Notices(keyspace.Partition(subject))
			counts[key] = pipe.ZCard(t.Context(), key)
		}
		return nil
	})
	require.NoError(t, err)
	n := 0
	for _, count := range counts {
		n += int(count.Val())
	}
	return n
}

// notices reads all notices, by id.
func (s crashStore) notices(t *testing.T) map[string]map[string]string {
	t.Helper()
	found := make(map[string]map[string]string)
	for _, key := range s.find(t, "n:*") {
		_, id, _ := strings.Cut(key, "}:n:")
		fields, err := s.client.HGetAll(t.Context(), key).Result()
		require.NoError(t, err)
		found[id] = fields
	}
	return found
}

// find lists the keys of all partitions that match a pattern.
func (s crashStore) find(t *testing.T, pattern string) []string {
	t.Helper()
	return s.match(t, s.keys.Prefix()+":{p*}:"+pattern)
}

// mailKey returns the beginning of a notice's Message-ID.
func mailKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// messageKey returns the Message-ID of a mail, without the domain.
func messageKey(header mail.Header) string {
	key, _, _ := strings.Cut(strings.TrimPrefix(header.Get("Message-ID"), "<"), "@")
	return key
}

// mailed counts the mails that arrived, by their Message-IDs without the domain.
func mailed(t *testing.T, mails []notifiertest.Mail) map[string]int {
	t.Helper()
	found := make(map[string]int)
	for _, m := range mails {
		message, err := mail.ReadMessage(bytes.NewReader(m.Data))
		require.NoError(t, err)
		found[messageKey(message.Header)]++
	}
	return found
}

// noticeFaults compares the mails that arrived with the notices, and the notices with
// the thresholds that were reached.
func (r *crashRound) noticeFaults() []string {
	r.Helper()
	stored, unsure, arrived := r.store.notices(r.T), doubts(r.history.events), mailed(r.T, r.mails.Mails())
	var found []string
	for id, notice := range stored {
		mails, least, most := arrived[mailKey(id)], 1, 1+unsure[messageName{id: id}]
		delete(arrived, mailKey(id))
		switch {
		case notice["z"] == stateFailed && notice["c"] == strconv.Itoa(notices.DefaultAttempts-1):
			least = 0
		case notice["w"] == notices.ReasonSuperseded:
			least = 0
		case notice["z"] != stateDelivered:
			found = append(found, fmt.Sprintf("/%s: ended %q", id, notice))
		}
		if mails < least || mails > most {
			found = append(found, fmt.Sprintf("/%s: %d mails, not %d to %d: %q", id, mails, least, most, notice))
		}
	}
	for key, mails := range arrived {
		found = append(found, fmt.Sprintf("%d mails %s of no notice", mails, key))
	}
	for _, key := range r.store.find(r.T, "notices") {
		found = append(found, key+" is still looked after")
	}
	return append(found, r.alertFaults(stored)...)
}

// alertFaults checks that everything that was reached was alerted.
func (r *crashRound) alertFaults(noticeFields map[string]map[string]string) []string {
	r.Helper()
	var found []string
	isThere := func(id string) {
		if noticeFields[id] == nil {
			found = append(found, "/"+id+": is not there")
		}
	}
	for day, used := range r.settledCharges() {
		if alerted := r.alerted(keyspace.AlertOfAccount, crashAccount, day, used, r.perDay, &found); alerted > 0 {
			isThere(notices.FormatID(notices.AccountQuota, day, alerted, crashAccount))
		}
	}
	for user, u := range r.history.users {
		if !r.daily() {
			break
		}
		for day, used := range u.perDay() {
			alerted := r.alerted(keyspace.AlertOfUser, user, day, used, crashDaily, &found)
			if alerted > 0 && slices.Contains(crashContacts(), user) {
				isThere(notices.FormatID(notices.UserQuota, day, alerted, user))
			}
		}
	}
	if r.left.IsZero() {
		return found
	}
	waits, err := r.store.client.ZScore(r.Context(), r.store.gathered(crashGus), r.gus()).Result()
	if errors.Is(err, redis.Nil) {
		hour := r.left.Add(-crashGusBefore).Truncate(time.Hour)
		isThere(notices.FormatID(notices.UserQuotaDigest, hour, 0, r.history.policy.Name))
	} else {
		require.NoError(r, err)
		require.Positive(r, waits)
	}
	return found
}

// alerted returns the highest threshold of a subject and a day that was alerted. It
// adds a fault if a higher one was reached.
func (r *crashRound) alerted(letter, subject string, day time.Time, used, limit int64, faults *[]string) int {
	r.Helper()
	flag, err := r.store.client.Get(r.Context(), r.store.keys.Alert(letter, subject, day.UnixMilli())).Int()
	if !errors.Is(err, redis.Nil) {
		require.NoError(r, err)
	}
	// A past day alerts nobody.
	if flag < reached(used, limit) && time.Now().Before(day.Add(24*time.Hour)) {
		*faults = append(*faults, fmt.Sprintf("%s: %d of %d on %s, and %d %% is alerted", subject, used, limit, day, flag))
	}
	return flag
}

// daily reports whether users have a daily rule.
func (r *crashRound) daily() bool {
	return slices.ContainsFunc(r.history.policy.Rules, func(rule policy.Rule) bool { return rule.String() == crashDailyRule })
}

// reached returns the highest threshold that is reached, 0 for none.
func reached(used, limit int64) int {
	highest := 0
	for _, percent := range crashAlertAt() {
		if used*100 >= int64(percent)*limit {
			highest = percent
		}
	}
	return highest
}

// settledCharges returns what the account is charged for and not holding, by day.
func (r *crashRound) settledCharges() map[time.Time]int64 {
	r.Helper()
	charged := make(map[time.Time]int64)
	prefix := "q:" + crashAccount + ":s:"
	for _, key := range r.store.find(r.T, prefix+"*") {
		_, start, _ := strings.Cut(key, "}:"+prefix)
		ms, err := strconv.ParseInt(start, 10, 64)
		require.NoError(r, err)
		used, err := r.store.client.Get(r.Context(), key).Int64()
		require.NoError(r, err)
		charged[time.UnixMilli(ms).UTC()] = used
	}
	return charged
}

// perDay counts the user's places by natural day.
func (u userState) perDay() map[time.Time]int64 {
	days := make(map[time.Time]int64)
	for _, at := range u.places {
		days[time.UnixMilli(at).UTC().Truncate(24*time.Hour)]++
	}
	return days
}
