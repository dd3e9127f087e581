package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/dashboard/session"
	"github.com/sendlimit/sendlimiter/sendlimit/accounts"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
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
	r.accounts, err = accounts.New(r.client, "")
	require.NoError(t, err)
	_, err = r.accounts.Create(t.Context(), accounts.Account{Name: "own"})
	require.NoError(t, err)
	r.key, _, err = r.accounts.AddKey(t.Context(), "own", []accounts.Scope{accounts.ScopeRead}, time.Time{})
	require.NoError(t, err)
	return r
}

// process returns the sessions of another process of the store.
func (r *rig) process() *process {
	r.Helper()
	s, err := session.New(r.client, "", r.accounts)
	require.NoError(r, err)
	return &process{r, s}
}

type process struct {
	*rig
	*session.Sessions
}

func (p *process) begins(now time.Time) (cookie string) {
	p.Helper()
	cookie, err := p.Begin(p.Context(), p.key, now)
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

	require.NoError(t, second.End(t.Context(), cookie, began()))
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

// A logout is remembered for as long as the session would have lasted.
func TestTheStoreForgetsALogout(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process()
	cookie := p.begins(began())
	before := r.store.Keys()
	require.NoError(t, p.End(t.Context(), cookie, began().Add(time.Hour)))
	require.Len(t, r.store.Keys(), len(before)+1)
	for _, key := range r.store.Keys() {
		if !strings.Contains(strings.Join(before, " "), key) {
			require.Equal(t, session.Lasts-time.Hour, r.store.TTL(key))
		}
	}
	r.store.FastForward(session.Lasts)
	require.Equal(t, before, r.store.Keys())
	p.refuses(cookie, began().Add(session.Lasts))
	for _, nothing := range []string{"", "x", "1.2.3.4.5", cookie + "x"} {
		require.NoError(t, p.End(t.Context(), nothing, began()))
	}
	require.NoError(t, p.End(t.Context(), cookie, began().Add(session.Lasts)), "it has ended already")
	require.Equal(t, before, r.store.Keys())
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
	_, _, err := r.accounts.RotateKey(t.Context(), "own", id, time.Hour)
	require.NoError(t, err)
	p.accepts(cookie, began().Add(time.Minute))
	r.store.SetTime(began().Add(time.Hour))
	p.refuses(cookie, began().Add(time.Hour))

	again, _, err := r.accounts.AddKey(t.Context(), "own", []accounts.Scope{accounts.ScopeRead}, time.Time{})
	require.NoError(t, err)
	r.key = again
	cookie = p.begins(began())
	p.accepts(cookie, began())
	_, err = r.accounts.RemoveKey(t.Context(), "own", again[3:11])
	require.NoError(t, err)
	p.accepts(cookie, began().Add(999*time.Millisecond))
	p.refuses(cookie, began().Add(time.Second))
}

func TestChangedCookies(t *testing.T) {
	t.Parallel()
	p := newRig(t).process()
	cookie := p.begins(began())
	for i := range cookie {
		for _, c := range []byte{'0', '1', '.', 'f', 0, ' '} {
			if changed := cookie[:i] + string(rune(c)) + cookie[i+1:]; changed != cookie {
				p.refuses(changed, began())
			}
		}
		p.refuses(cookie[:i], began())
	}
	p.refuses(cookie+"0", began())
	p.refuses(strings.ToUpper(cookie), began())
	p.accepts(cookie, began())
}

// A cookie is signed: with the secret of another store it is worth nothing.
func TestCookiesOfAnotherStore(t *testing.T) {
	t.Parallel()
	one, other := newRig(t), newRig(t)
	other.key = one.key
	one.process().refuses(other.process().begins(began()), began())
}

// A secret that is lost or broken is made anew: all have to log in again.
func TestANewSecretEndsAllSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.process()
	cookie := p.begins(began())
	var key string
	for _, name := range r.store.Keys() {
		if strings.HasSuffix(name, "sessionsecret") {
			key = name
		}
	}
	require.NotEmpty(t, key)
	require.True(t, r.store.Del(key))
	p.refuses(cookie, began().Add(time.Minute))
	again := p.begins(began().Add(time.Minute))
	r.process().accepts(again, began().Add(time.Minute))
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
	require.Error(t, p.End(t.Context(), cookie, began().Add(time.Second)))
	_, err = r.process().Begin(t.Context(), r.key, began())
	require.Error(t, err)
	r.store.SetError("")
	p.accepts(cookie, began().Add(2*time.Second))
	require.NoError(t, p.End(t.Context(), cookie, began().Add(2*time.Second)))
}

func TestAPrefixThatIsNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := session.New(r.client, "{x}", r.accounts)
	require.ErrorAs(t, err, new(*fault.InvalidError))
}
