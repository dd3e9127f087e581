package session_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a store with the account own, which has a key.
type rig struct {
	*testing.T

	store    *miniredis.Miniredis
	client   *redis.Client
	accounts *accounts.Accounts
	key      string
}

func began() time.Time { return time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC) }

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t}
	r.store, r.client = redistest.Embedded(t)
	r.store.SetTime(began())
	var err error
	r.accounts = accounts.New(r.client, keyspace.KeysUnder(""))
	_, err = r.accounts.Create(t.Context(), accounts.Account{Name: "own"})
	require.NoError(t, err)
	r.key, _, err = r.accounts.AddKey(t.Context(), "own", []accounts.Scope{accounts.ScopeRead}, time.Time{}, nil)
	require.NoError(t, err)
	return r
}

// process returns the sessions of another process of the store.
func (r *rig) process() *process {
	r.Helper()
	s := session.New(r.client, keyspace.KeysUnder(""), r.accounts)
	return &process{r, s}
}

type process struct {
	*rig
	*session.Sessions
}

func (p *process) begins(now time.Time) (cookie string) {
	p.Helper()
	cookie, err := p.Begin(p.Context(), p.key, "192.0.2.1", now)
	require.NoError(p, err)
	return cookie
}

func (p *process) accepts(cookie string, now time.Time) accounts.Identity {
	p.Helper()
	who, ok, err := p.Find(p.Context(), cookie, now)
	require.NoError(p, err)
	require.True(p, ok)
	require.Equal(p, "own", who.Account.Name)
	return who
}

func (p *process) refuses(cookie string, now time.Time) {
	p.Helper()
	who, ok, err := p.Find(p.Context(), cookie, now)
	require.NoError(p, err)
	require.False(p, ok)
	require.Equal(p, accounts.Identity{}, who)
}

func TestASessionHoldsOnEveryProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, second := r.process(), r.process()
	cookie := first.begins(began())
	first.accepts(cookie, began())
	second.accepts(cookie, began())
	require.NotEqual(t, cookie, second.begins(began()))

	require.NoError(t, second.End(t.Context(), cookie))
	second.refuses(cookie, began())
	first.accepts(cookie, began().Add(999*time.Millisecond)) // it has just found it
	first.refuses(cookie, began().Add(time.Second))
	r.process().refuses(cookie, began())
}

func TestWhenASessionEnds(t *testing.T) {
	t.Parallel()
	p := newRig(t).process()
	cookie := p.begins(began())
	p.accepts(cookie, began().Add(session.Lasts-time.Second))
	p.refuses(cookie, began().Add(session.Lasts))
	p.refuses(cookie, began().Add(100*session.Lasts))
}

// The store forgets what has ended, and never had what a browser sends.
func TestTheStoreHasNoCookie(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process()
	before := r.store.Keys()
	ends, lasts := p.begins(began()), p.begins(began())
	for _, key := range r.store.Keys() {
		for _, cookie := range []string{ends, lasts} {
			require.NotContains(t, key, cookie)
		}
	}
	dump := r.store.Dump()
	require.NotContains(t, dump, ends)
	require.NotContains(t, dump, "secret", "nothing signs cookies")
	// What a backup has is no cookie.
	for _, word := range regexp.MustCompile(`[\w-]{16,}`).FindAllString(dump, -1) {
		p.refuses(word, began())
	}
	require.NoError(t, p.End(t.Context(), ends))
	p.accepts(lasts, began())
	for _, nothing := range []string{"", "x", ends} {
		require.NoError(t, p.End(t.Context(), nothing))
	}
	r.store.FastForward(session.Lasts)
	require.Equal(t, before, r.store.Keys())
	p.refuses(lasts, began().Add(time.Minute))
}

// Sessions are listed, and each can be ended from afar.
func TestSessionsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process()
	first, second := p.begins(began()), p.begins(began().Add(time.Minute))
	list, err := p.List(t.Context(), began())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []any{"own", r.key[3:11], "192.0.2.1", began(), began().Add(session.Lasts)},
		[]any{list[0].Account, list[0].Key, list[0].Address, list[0].Began, list[0].Ends})
	revoked, err := r.process().Revoke(t.Context(), began(), func(s session.Session) bool { return s.ID == list[0].ID })
	require.NoError(t, err)
	require.Equal(t, 1, revoked)
	p.refuses(first, began().Add(time.Second))
	p.accepts(second, began().Add(time.Second))
	list, err = p.List(t.Context(), began().Add(session.Lasts))
	require.NoError(t, err)
	require.Len(t, list, 1)
}

// A session gains and loses scopes with its key.
func TestASessionIsWorthWhatItsKeyIs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process()
	cookie := p.begins(began())
	require.False(t, p.accepts(cookie, began()).May(accounts.ScopeSubmit))
	id := r.key[3:11]

	// A replaced key works until its overlap is over.
	_, _, err := r.accounts.RotateKey(t.Context(), "own", id, time.Hour, nil)
	require.NoError(t, err)
	p.accepts(cookie, began().Add(time.Minute))
	r.store.SetTime(began().Add(time.Hour))
	p.refuses(cookie, began().Add(time.Hour))

	again, _, err := r.accounts.AddKey(t.Context(), "own", []accounts.Scope{accounts.ScopeRead}, time.Time{}, nil)
	require.NoError(t, err)
	r.key = again
	cookie = p.begins(began())
	p.accepts(cookie, began())
	_, err = r.accounts.RemoveKey(t.Context(), "own", again[3:11], nil)
	require.NoError(t, err)
	p.accepts(cookie, began().Add(999*time.Millisecond))
	p.refuses(cookie, began().Add(time.Second))
}

func TestChangedCookies(t *testing.T) {
	t.Parallel()
	p := newRig(t).process()
	cookie := p.begins(began())
	for i := range cookie {
		p.refuses(cookie[:i]+"."+cookie[i+1:], began())
		p.refuses(cookie[:i], began())
	}
	p.refuses(cookie+"0", began())
	p.refuses(strings.ToUpper(cookie), began())
	p.accepts(cookie, began())
}

func TestWithoutTheStore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process()
	cookie := p.begins(began())
	p.accepts(cookie, began())
	r.store.SetError("ERR away")
	p.accepts(cookie, began().Add(999*time.Millisecond))
	_, ok, err := p.Find(t.Context(), cookie, began().Add(time.Second))
	require.Error(t, err)
	require.False(t, ok)
	require.Error(t, p.End(t.Context(), cookie))
	_, err = r.process().Begin(t.Context(), r.key, "", began())
	require.Error(t, err)
	r.store.SetError("")
	p.accepts(cookie, began().Add(2*time.Second))
	require.NoError(t, p.End(t.Context(), cookie))
}
