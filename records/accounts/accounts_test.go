package accounts_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// registry is a store with accounts. Its clock stands still.
type registry struct {
	*testing.T
	*accounts.Accounts

	server *miniredis.Miniredis
	now    time.Time
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	server, client := redistest.Embedded(t)
	r := &registry{T: t, server: server, now: time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)}
	server.SetTime(r.now)
	r.Accounts = accounts.New(client, keyspace.KeysUnder(""))
	return r
}

func (r *registry) wait(d time.Duration) {
	r.now = r.now.Add(d)
	r.server.SetTime(r.now)
}

// create creates an account with a key that may submit and read.
func (r *registry) create(name string) (secret string, key accounts.APIKey) {
	r.Helper()
	_, err := r.Create(r.Context(), accounts.Account{Name: name})
	require.NoError(r, err)
	secret, key, err = r.AddKey(r.Context(), name, []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}, time.Time{}, nil)
	require.NoError(r, err)
	return secret, key
}

// acme returns the account "acme", which must exist.
func (r *registry) acme() accounts.Account {
	r.Helper()
	account, ok, err := r.Get(r.Context(), "acme")
	require.NoError(r, err)
	require.True(r, ok)
	return account
}

func TestAccountsAreKept(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	_, ok, err := r.Get(t.Context(), "acme")
	require.NoError(t, err)
	require.False(t, ok)

	require.NoError(t, r.SetTier(t.Context(), accounts.Tier{Name: "free", MessagesPerDay: 500, AlertAt: []int{}}))
	want := accounts.Account{
		Name: "acme", Tier: "free", Contact: "ops@acme.example", TimeZone: "Europe/Berlin", ReportAt: "08:00", CreatedAt: r.now,
	}
	made, err := r.Create(t.Context(), accounts.Account{
		Name: "acme", Tier: "free", Contact: "ops@acme.example", TimeZone: "Europe/Berlin", ReportAt: "08:00",
	})
	require.NoError(t, err)
	require.Equal(t, want, made)
	account, tier, ok, err := r.Resolve(t.Context(), "acme")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, want, account)
	require.Equal(t, accounts.Tier{Name: "free", MessagesPerDay: 500, AlertAt: []int{}}, tier, "empty alerts are not the usual ones")

	changed, err := r.Set(t.Context(), "acme", accounts.Change{Tier: new(""), Disabled: new(true)})
	require.NoError(t, err)
	want.Tier, want.Disabled = "", true
	require.Equal(t, want, changed)
	_, tier, _, err = r.Resolve(t.Context(), "acme")
	require.NoError(t, err)
	require.Zero(t, tier)

	_, err = r.Create(t.Context(), accounts.Account{Name: "acme"})
	var exists *fault.ExistsError
	require.ErrorAs(t, err, &exists)
	require.EqualError(t, exists, `account "acme" exists already`)
	_, err = r.Create(t.Context(), accounts.Account{Name: "aa"})
	require.NoError(t, err)
	all, err := r.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "aa", all[0].Name)
	require.Equal(t, want, all[1])
}

func TestAccountsRefuseWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.create("good")
	for field, account := range map[string]accounts.Account{
		"account":   {Name: "Acme"},
		"tier":      {Name: "acme", Tier: "gold"},
		"contact":   {Name: "acme", Contact: "ops"},
		"time_zone": {Name: "acme", TimeZone: "Local"},
		"report_at": {Name: "acme", ReportAt: "8:00"},
	} {
		_, err := r.Create(t.Context(), account)
		var wrong *fault.InvalidError
		require.ErrorAs(t, err, &wrong, field)
		require.Equal(t, field, wrong.Field)
	}
	_, ok, err := r.Get(t.Context(), "acme")
	require.NoError(t, err)
	require.False(t, ok, "nothing is written")
	_, err = r.Set(t.Context(), "good", accounts.Change{Tier: new("gold")})
	require.ErrorContains(t, err, `there is no tier "gold"`)
	_, err = r.Set(t.Context(), "nobody", accounts.Change{})
	require.EqualError(t, err, `no account "nobody"`)
	_, _, err = r.AddKey(t.Context(), "good", []accounts.Scope{"root"}, time.Time{}, nil)
	require.ErrorContains(t, err, "which is unknown or given twice: there are submit, read, admin and content")
	_, _, err = r.AddKey(t.Context(), "good", []accounts.Scope{accounts.ScopeRead}, r.now, nil)
	require.ErrorContains(t, err, "expires_at has passed: ")
}

func TestTiers(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	for field, tier := range map[string]accounts.Tier{
		"tier":                {Name: ""},
		"requests_per_minute": {Name: "a", RequestsPerMinute: -1},
		"lines_per_minute":    {Name: "a", LinesPerMinute: accounts.MaxTierLimit + 1},
		"messages_per_hour":   {Name: "a", MessagesPerHour: accounts.MaxTierLimit + 1},
		"alert_at":            {Name: "a", AlertAt: []int{100, 80}},
	} {
		var wrong *fault.InvalidError
		require.ErrorAs(t, r.SetTier(t.Context(), tier), &wrong, field)
		require.Equal(t, field, wrong.Field)
	}
	for _, name := range []string{"b", "a"} {
		require.NoError(t, r.SetTier(t.Context(), accounts.Tier{Name: name, RequestsPerMinute: 60}))
	}
	created, err := r.SeedTier(t.Context(), accounts.Tier{Name: "a", RequestsPerMinute: 1})
	require.NoError(t, err)
	require.False(t, created)
	all, err := r.ListTiers(t.Context())
	require.NoError(t, err)
	require.Equal(t, []accounts.Tier{{Name: "a", RequestsPerMinute: 60}, {Name: "b", RequestsPerMinute: 60}}, all)

	_, err = r.Create(t.Context(), accounts.Account{Name: "acme", Tier: "a"})
	require.NoError(t, err)
	require.ErrorContains(t, r.RemoveTier(t.Context(), "a"), `give account "acme" another one first`)
	require.NoError(t, r.RemoveTier(t.Context(), "b"))
	require.EqualError(t, r.RemoveTier(t.Context(), "b"), `no tier "b"`)

	// If the tier does not exist any more, the account may not send without
	// limits.
	r.server.HDel("sl:{accounts}:tiers", "a")
	_, _, _, err = r.Resolve(t.Context(), "acme")
	var unfit *fault.UnavailableError
	require.ErrorAs(t, err, &unfit)
}

// Concurrent changes of different fields and keys are all made.
func TestConcurrentChangesOfAnAccount(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	r.create("acme")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, _, err := r.AddKey(t.Context(), "acme", []accounts.Scope{accounts.ScopeRead}, time.Time{}, nil)
			require.NoError(t, err)
		})
	}
	all.Go(func() {
		_, err := r.Set(t.Context(), "acme", accounts.Change{Contact: new("ops@acme.example")})
		require.NoError(t, err)
	})
	all.Wait()
	account := r.acme()
	require.Len(t, account.Keys, 9)
	require.Equal(t, "ops@acme.example", account.Contact)
	require.Len(t, r.hashes(), 9)
}

// hashes returns the hashes of all keys in the store.
func (r *registry) hashes() []string {
	fields, err := r.server.HKeys("sl:{accounts}:keys")
	if err != nil {
		return nil
	}
	return fields
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	const key = "a long random text of the operator's"
	const hash = "7b0d1e4d4f0a3a9ad93bf27ad8d0c9f7ddcb6f0b0d1e4d4f0a3a9ad93bf27ad8"
	seed := accounts.Seed{
		Account: accounts.Account{Name: "acme", Contact: "ops@acme.example"},
		Keys:    []accounts.KeySeed{{SHA256: hash, Scopes: []accounts.Scope{accounts.ScopeRead}}},
	}
	created, err := r.Seed(t.Context(), seed)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, hash[:8], r.acme().Keys[0].ID)

	seed.Contact = "other@acme.example"
	created, err = r.Seed(t.Context(), seed)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, "ops@acme.example", r.acme().Contact, "what is there stays")

	seed.Name = "thief"
	_, err = r.Seed(t.Context(), seed)
	require.ErrorContains(t, err, "another account has this key")
	seed.Keys[0].SHA256 = key
	_, err = r.Seed(t.Context(), seed)
	require.ErrorContains(t, err, "the SHA-256 of an API key")
	require.NotContains(t, err.Error(), key, "it may be the key itself")
}

// The store and all replies have at most the hash of a key.
func TestAKeyIsNowhere(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	secret, key := r.create("acme")
	require.Regexp(t, `^sk_[A-Za-z0-9]{8}_[A-Za-z0-9]{43}$`, secret)
	require.Equal(t, key.ID, secret[3:11])
	random := secret[12:]
	require.NotContains(t, r.server.Dump(), random)
	identity, _, err := r.Authenticate(t.Context(), secret)
	require.NoError(t, err)
	for _, value := range []any{r.acme(), key, identity} {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		for _, shown := range []string{string(text), fmt.Sprintf("%+v", value)} {
			require.NotContains(t, shown, random)
			require.NotContains(t, shown, r.hashes()[0])
		}
	}
}

// Every letter occurs, and no key occurs twice.
func TestKeysAreRandom(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	letters := make(map[rune]bool)
	for i := range 100 {
		secret, _ := r.create(fmt.Sprintf("a%d", i))
		for _, letter := range secret[12:] {
			letters[letter] = true
		}
	}
	require.Len(t, letters, 62)
	require.Len(t, r.hashes(), 100)
}

func TestAccountsWithoutTheStore(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	secret, _ := r.create("acme")
	r.server.SetError("LOADING Redis is loading the dataset in memory")
	_, ok, err := r.Authenticate(t.Context(), secret)
	var away *fault.UnavailableError
	require.ErrorAs(t, err, &away)
	require.False(t, ok)
}

// A change of the zone opens no other day: the one under way ends where it ends in the zone
// that counts, however often the zone is changed meanwhile. Every later time counts in the
// new zone.
func TestAChangedZoneClosesTheDayUnderWay(t *testing.T) {
	t.Parallel()
	r := newRegistry(t)
	zones := []string{
		"", "UTC", "Pacific/Auckland", "America/Los_Angeles", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Pacific/Apia",
		"Asia/Kathmandu", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe",
	}
	name := 0
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(0, 400*24*60).Draw(t, "minute")) * time.Minute)
		r.server.SetTime(start)
		name++
		account, err := r.Create(t.Context(), accounts.Account{
			Name: "a" + strconv.Itoa(name), TimeZone: rapid.SampledFrom(zones).Draw(t, "first"),
		})
		require.NoError(t, err)
		now := start
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			_, before, err := account.Periods(now)
			require.NoError(t, err)
			to := rapid.SampledFrom(zones).Draw(t, "to")
			account, err = r.Set(t.Context(), account.Name, accounts.Change{TimeZone: &to})
			require.NoError(t, err)
			require.Equal(t, to, account.TimeZone)
			for at := now; at.Before(before.Until); at = at.Add(53 * time.Minute) {
				_, day, err := account.Periods(at)
				require.NoError(t, err)
				require.Equal(t, before, day, "at %s", at)
			}
			for _, later := range []time.Duration{0, time.Minute, 30 * time.Hour} {
				require.Equal(t, to, account.ZoneAt(before.Until.Add(later)))
				hour, day, err := account.Periods(before.Until.Add(later))
				require.NoError(t, err)
				require.True(t, day.Until.After(before.Until.Add(later)))
				require.True(t, hour.Until.After(before.Until.Add(later)))
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 20*60).Draw(t, "minutes later")) * time.Minute)
			r.server.SetTime(now)
		}
		stored, ok, err := r.Get(t.Context(), account.Name)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, account, stored)
	})
}

// The table of one change, both ways over the date line.
func TestAChangedZoneOverTheDateLine(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		from, to          string
		now, until, first string // the end of the day under way, and of the first day in the new zone
	}{
		"to the east":   {"Pacific/Auckland", "America/Los_Angeles", "2026-11-22T20:00:00Z", "2026-11-23T11:00:00Z", "2026-11-24T08:00:00Z"},
		"to the west":   {"America/Los_Angeles", "Pacific/Auckland", "2026-11-22T20:00:00Z", "2026-11-23T08:00:00Z", "2026-11-23T11:00:00Z"},
		"a whole day":   {"Pacific/Pago_Pago", "Pacific/Kiritimati", "2026-11-22T20:00:00Z", "2026-11-23T11:00:00Z", "2026-11-24T10:00:00Z"},
		"the same time": {"Pacific/Auckland", "Antarctica/McMurdo", "2026-11-22T20:00:00Z", "2026-11-23T11:00:00Z", "2026-11-24T11:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegistry(t)
			at := func(text string) time.Time {
				parsed, err := time.Parse(time.RFC3339, text)
				require.NoError(t, err)
				return parsed
			}
			r.server.SetTime(at(row.now))
			_, err := r.Create(t.Context(), accounts.Account{Name: "acme", TimeZone: row.from})
			require.NoError(t, err)
			changed, err := r.Set(t.Context(), "acme", accounts.Change{TimeZone: &row.to})
			require.NoError(t, err)
			require.Equal(t, at(row.until), changed.ZoneFrom)
			require.Equal(t, row.from, changed.FormerZone)
			_, day, err := changed.Periods(at(row.until))
			require.NoError(t, err)
			require.Equal(t, at(row.first), day.Until.UTC())
			// Back again before the end: nothing has changed.
			back, err := r.Set(t.Context(), "acme", accounts.Change{TimeZone: &row.from})
			require.NoError(t, err)
			require.True(t, back.ZoneFrom.IsZero())
		})
	}
}
