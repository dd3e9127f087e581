package command

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/events"
	"github.com/sendlimit/sendlimiter/records/session"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// says runs a subcommand that has something to say beside its answer.
func says(t *testing.T, environ []string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, log written
	p := cli.Program{Environ: environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log}
	require.NoError(t, Run(t.Context(), p, args))
	return out.String(), log.String()
}

func TestAccountsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	m, client, environ := elsewhere(t)
	m.SetTime(time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC))
	run := func(args ...string) string {
		t.Helper()
		return prints(t, environ, "", args...)
	}
	require.Equal(t, "name: free\nrequests_per_minute: 60\nrequests_per_day: no limit\nlines_per_minute: no limit\nmessages_per_hour: no limit\nmessages_per_day: 500\ndevices: no limit\nalert_at: 80%, 100%\n",
		run("tier", "set", "free", "--requests-per-minute", "60", "--messages-per-day", "500"))
	require.Contains(t, run("tier", "set", "free", "--alert-at", "never"), "messages_per_day: 500\ndevices: no limit\nalert_at: never\n", "the rest stays")

	key, said := says(t, environ, "account", "create", "acme", "--tier", "free", "--contact", "ops@acme.example", "--time-zone", "Europe/Berlin")
	require.Regexp(t, `^sk_[A-Za-z0-9]{8}_[A-Za-z0-9]{43}\n$`, key, "alone, to be taken from there")
	require.Equal(t, "This is key "+key[3:11]+" of account acme (submit, read). It is not shown again: only its SHA-256 is stored.\n", said)
	require.Equal(t, "name: acme\ntier: free\ncontact: ops@acme.example\ntime_zone: Europe/Berlin\nreport_at: never\nevents_url: none\nstate: enabled\n"+
		"created_at: 2026-11-22 11:00:00 UTC\nkeys:\n  - "+key[3:11]+": submit, read, created 2026-11-22 11:00:00 UTC\n"+
		"used:\n  - hour: 0, no limit, until 2026-11-22 13:00:00 CET\n  - day: 0, 500 left of 500, until 2026-11-23 00:00:00 CET\n  - devices: 0, no limit\n",
		run("account", "show", "acme"))
	require.Equal(t, "NAME  TIER  KEYS  CONTACT           STATE\nacme  free  1     ops@acme.example  enabled\n", run("account", "list"))

	require.Contains(t, run("tier", "set", "free", "--requests-per-day", "900"), "\nrequests_per_day: 900\n")
	require.Contains(t, run("tier", "set", "free", "--lines-per-minute", "6000"), "\nlines_per_minute: 6000\n")
	run("tier", "set", "free", "--devices", "20")
	require.Contains(t, run("account", "show", "acme"), "  - devices: 0, 20 left of 20\n")
	require.Contains(t, run("tier", "show", "free", "--json"), `"lines_per_minute":6000`)
	require.Regexp(t, `free +60 +900 +6000 +no limit +500 +20 `, run("tier", "list"))
	require.Contains(t, run("account", "show", "acme"), "  - submits of the day: 0, 900 left of 900, until 2026-11-23 01:00:00 CET\n")
	require.Contains(t, run("account", "show", "acme", "--json"), `"requests":{"submit":{"used":0,"limit":900,"remaining":900,`)
	run("tier", "set", "free", "--requests-per-day", "0")

	next, said := says(t, environ, "account", "rotate-key", "acme", "--overlap", "1h")
	require.Contains(t, said, "The old key stays valid for 1h.\n")
	require.Contains(t, run("account", "show", "acme"), ", expires 2026-11-22 12:00:00 UTC\n")
	require.NotContains(t, run("account", "remove-key", "acme", key[3:11]), key[3:11])
	require.Contains(t, run("account", "show", "acme"), next[3:11])

	var added struct {
		ID     string `json:"id"`
		Secret string `json:"key"`
	}
	require.NoError(t, json.Unmarshal([]byte(run("account", "add-key", "acme", "--scopes", "admin", "--expires-at", "2027-01-01T00:00:00Z", "--json")), &added))
	require.Equal(t, added.ID, added.Secret[3:11])

	directory := accounts.New(client, keyspace.KeysUnder(""))
	sessions := session.New(client, keyspace.KeysUnder(""), directory)
	_, err := sessions.Begin(t.Context(), strings.TrimSpace(next), "192.0.2.1", time.Now())
	require.NoError(t, err)
	listed := strings.Fields(run("account", "sessions"))
	require.Equal(t, []string{"ID", "ACCOUNT", "KEY", "ADDRESS", "BEGAN", "ENDS"}, listed[:6])
	require.Equal(t, []string{"acme", next[3:11], "192.0.2.1"}, listed[7:10])
	require.Contains(t, run("account", "sessions", "--json"), `"account":"acme"`)
	run("account", "end-session", listed[6])
	require.Equal(t, "Nobody is logged in to the dashboard.\n", run("account", "sessions"))

	require.Contains(t, run("account", "disable", "acme"), "state: disabled\n")
	require.Contains(t, run("account", "enable", "acme"), "state: enabled\n")
	require.Contains(t, run("account", "set", "acme", "--tier", "", "--report-at", "08:00"), "tier: none\n")
	var shown message.Account
	require.NoError(t, json.Unmarshal([]byte(run("account", "show", "acme", "--json")), &shown))
	require.Equal(t, "08:00", shown.ReportAt)
	require.Equal(t, "ops@acme.example", shown.Contact)
	require.Len(t, shown.Keys, 2)
	fails(t, cli.StatusInvalid, "error: acme has several keys: give one as KEY-ID: "+
		shown.Keys[0].ID+", "+shown.Keys[1].ID+"\n", environ, "", "account", "rotate-key", "acme")

	run("tier", "set", "gold")
	require.JSONEq(t, `{"outcome":"removed","tier":"gold"}`, run("tier", "remove", "gold", "--json"))
	require.Equal(t, "removed the tier free\n", run("tier", "remove", "free"))
	require.Equal(t, "There are no tiers: see sendlimit-worker tier set.\n", run("tier", "list"))
}

func TestAccountsOnTheCommandLineRefuse(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	for line, want := range map[string]struct {
		status int
		says   string
	}{
		"account show acme":                      {cli.StatusNotFound, `no account "acme"`},
		"account create acme --scopes admn":      {cli.StatusInvalid, `scopes has "admn", which is unknown or given twice`},
		"account rotate-key acme":                {cli.StatusNotFound, `no account "acme"`},
		"account create Acme":                    {cli.StatusInvalid, "a name of 1 to 64 of a-z 0-9 _ -"},
		"account set acme":                       {cli.StatusInvalid, "a flag is required"},
		"account rotate-key acme id --overlap x": {cli.StatusInvalid, "a length of time"},
		"account rotate-key acme --overlap 367d": {cli.StatusInvalid, `overlap "367d" is not allowed: use a length of time such as 1h or 7d, 0 for none, at most 366d`},
		"account remove-key acme":                {cli.StatusInvalid, "KEY-ID is missing"},
		"account end-session 3fa91c02":           {cli.StatusNotFound, `no session "3fa91c02"`},
		"tier set free --alert-at x":             {cli.StatusInvalid, "percents such as 80,100, or never"},
		"tier set free --messages-per-day=-1":    {cli.StatusInvalid, "0, which is no limit"},
	} {
		fails(t, want.status, want.says, environ, "", strings.Fields(line)...)
	}
	require.Equal(t, "There are no accounts: see sendlimit-worker account create.\n", prints(t, environ, "", "account", "list"))
	require.Equal(t, "There are no tiers: see sendlimit-worker tier set.\n", prints(t, environ, "", "tier", "list"))
}

func TestAnAccountWhoseKeyIsRefused(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	var out, log written
	p := cli.Program{Environ: environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &log}
	err := Run(t.Context(), p, []string{"account", "create", "acme", "--expires-at", "2001-01-01T00:00:00Z"})
	require.EqualError(t, err, "expires_at has passed: 2001-01-01T00:00:00Z")
	require.Empty(t, out.String())
	require.Equal(t, "Created account acme without a key: see sendlimit-worker account add-key.\n", log.String())
}

// A key that has expired stays until the account changes. Nobody means it.
func TestTheOnlyKeyIsRotatedAgain(t *testing.T) {
	t.Parallel()
	m, _, environ := elsewhere(t)
	at := time.Date(2026, 11, 22, 11, 0, 0, 0, time.UTC)
	m.SetTime(at)
	says(t, environ, "account", "create", "acme")
	second, _ := says(t, environ, "account", "rotate-key", "acme", "--overlap", "1h")
	m.SetTime(at.Add(2 * time.Hour))
	says(t, environ, "account", "rotate-key", "acme")
	require.Contains(t, prints(t, environ, "", "account", "show", "acme"), second[3:11]+": submit, read, created 2026-11-22 11:00:00 UTC, expires 2026-11-23 13:00:00 UTC\n")
}

// certificate makes the files of a certificate for 127.0.0.1 and of its key.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	authority, err := redistest.NewAuthority(t.TempDir())
	require.NoError(t, err)
	certFile, keyFile, err = authority.Issue("api", "127.0.0.1")
	require.NoError(t, err)
	trusted, err := os.ReadFile(authority.File())
	require.NoError(t, err)
	pool = x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(trusted))
	return certFile, keyFile, pool
}

// With an address that other machines reach, the worker wants a key first.
// TestWhatIsOpenWithoutAKey has one.
func TestBeyondLoopback(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	status, said := refuses(t, environ, "--listen", "0.0.0.0:0")
	require.Equal(t, cli.StatusInvalid, status)
	require.Contains(t, said, "other machines may reach 0.0.0.0:0")
	require.Contains(t, said, "sendlimit-worker account create NAME")
	for _, embedded := range [][]string{{"--listen", "0.0.0.0:0"}, {"--listen", "0.0.0.0:0", "--require-keys"}} {
		status, said = refuses(t, nil, embedded...)
		require.Equal(t, cli.StatusInvalid, status)
		require.Contains(t, said, "other machines may reach 0.0.0.0:0, so the API needs an API key, and the embedded store has none:"+
			" listen at a loopback address such as 127.0.0.1:0, or name an account with the key_sha256 of a key under accounts in the file of --config,"+
			" or set redis_url and run sendlimit-worker account create NAME")
	}
}

// statusWith gets an address with a key, and returns the status. The server hangs up on who takes
// too long to send a request: on a busy machine that may be this test, which then sends it again.
func statusWith(t *testing.T, transport http.RoundTripper, url, key string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	request.Close = true
	response, err := (&http.Client{Transport: transport}).Do(request)
	for tries := 1; tries < 5 && (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)); tries++ {
		response, err = (&http.Client{Transport: transport}).Do(request)
	}
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

func TestTheAPIOverTLS(t *testing.T) {
	t.Parallel()
	certFile, keyFile, pool := certificate(t)
	_, _, environ := elsewhere(t)
	status, said := refuses(t, environ, "--tls-cert", certFile, "--tls-key", certFile)
	require.Equal(t, cli.StatusInvalid, status)
	require.Contains(t, said, "a certificate that fits the key in tls_key, both in PEM")

	worker := start(t, environ, "--tls-cert", certFile, "--tls-key", keyFile, "--require-keys").started(t)
	worker.logged(t, "the API requires keys, and no account has a valid one")
	url := worker.attribute(t, "API endpoint", "url")
	require.True(t, strings.HasPrefix(url, "https://127.0.0.1:"), url)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	require.Equal(t, http.StatusUnauthorized, statusWith(t, transport, url+"stats", ""))
	key, _ := says(t, environ, "account", "create", "operator", "--scopes", "admin")
	require.Equal(t, http.StatusOK, statusWith(t, transport, url+"stats", strings.TrimSpace(key)))
	address := strings.TrimSuffix(strings.TrimPrefix(url, "https://"), "/v1/")
	old := tls.Dialer{Config: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}
	_, err := old.DialContext(t.Context(), "tcp", address)
	require.ErrorContains(t, err, "protocol version not supported")
	said = prints(t, nil, "", "health", "--listen", address, "--tls-cert", certFile)
	require.Equal(t, "ready\n", said)
}

// A store gets the tiers and accounts of the file where it has none of the name.
func TestSeedsOfTheFile(t *testing.T) {
	t.Parallel()
	_, _, environ := elsewhere(t)
	prints(t, environ, "", "tier", "set", "free", "--messages-per-day", "7")
	_, err := command(t, environ, "", "account", "create", "old", "--tier", "free", "--time-zone", "UTC", "--no-key")
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "s.yaml")
	require.NoError(t, os.WriteFile(name, []byte("tiers: {free: {messages_per_day: 500}, business: {messages_per_day: 5000}}\n"+
		"accounts:\n  old: {tier: free, contact: new@example.com}\n  acme:\n    tier: business\n    keys: [{key_sha256: "+
		"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae}]\n"), 0o600)) // of foo
	worker := start(t, environ, "--config", name, "--require-keys").started(t)
	require.Equal(t, http.StatusForbidden, statusWith(t, http.DefaultTransport, worker.attribute(t, "API endpoint", "url")+"stats", "foo"),
		"known, and no operator's")
	worker.logged(t, "a tier in the settings differs from the store's")
	worker.logged(t, "an account in the settings differs from the store's")
	require.NotContains(t, worker.stderr.String(), "new@", "a contact is somebody's address")
	out := prints(t, environ, "", "tier", "list")
	require.Regexp(t, `(?s)business .* 5000 .*free .* 7 `, out)
}

// giveUp makes n dead events of acme, of messages m1 and so on.
func giveUp(t *testing.T, client *redis.Client, n int) {
	t.Helper()
	log, err := events.NewLog(client, events.Options{})
	require.NoError(t, err)
	var happened []events.Event
	for k := range n {
		happened = append(happened, events.Event{
			ID: fmt.Sprintf("1-%d", k+1), Type: events.Delivered, Account: "acme", User: "alice", MessageID: fmt.Sprintf("m%d", k+1),
			At: time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC),
		})
	}
	_, err = log.Append(t.Context(), "acme", 7, happened)
	require.NoError(t, err)
	latest, err := log.Latest(t.Context(), "acme")
	require.NoError(t, err)
	callbacks, err := events.NewCallbacks(client, events.Options{})
	require.NoError(t, err)
	turn, _, ok, err := callbacks.Take(t.Context(), "acme", "nonce", time.Minute)
	require.NoError(t, err)
	require.True(t, ok)
	dead, held, err := callbacks.Settle(t.Context(), turn, events.Outcome{Reason: "gone", Last: latest, Count: n})
	require.NoError(t, err)
	require.True(t, held)
	require.Equal(t, n, dead)
}

func TestDeadEventsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	_, client, environ := elsewhere(t)
	run := func(args ...string) string {
		t.Helper()
		return prints(t, environ, "", append([]string{"account"}, args...)...)
	}
	says(t, environ, "account", "create", "acme")
	_, secret := says(t, environ, "account", "set", "acme", "--events", "https://acme.example/events")
	require.Contains(t, secret, "\nwhsec_")
	require.Regexp(t, `^whsec_[A-Za-z0-9+/]{43}=\n$`, run("rotate-events-secret", "acme", "--overlap", "0"))
	giveUp(t, client, 3)

	require.Contains(t, run("show", "acme"), "dead: 3, lost: 0")
	listed := strings.Split(strings.TrimSpace(run("events", "list", "acme")), "\n")
	require.Len(t, listed, 3)
	require.Contains(t, listed[0], "  delivered  message m1 to alice, dead since ")
	require.Contains(t, listed[0], ": gone")
	require.Equal(t, 3, strings.Count(run("events", "list", "acme", "--json"), `"reason":"gone"`))

	// An empty id is that of a variable that is not set, and must not mean all.
	for _, action := range []string{"retry", "purge"} {
		fails(t, cli.StatusInvalid, "ID is empty: give an ID, or leave it out for all dead events",
			environ, "", "account", "events", action, "acme", "")
	}
	for _, action := range []string{"list", "retry", "purge"} { // nor that of the key's own account
		fails(t, cli.StatusInvalid, "NAME is missing", environ, "", "account", "events", action, "")
	}
	id, _, _ := strings.Cut(listed[1], " ")
	require.Equal(t, "1 dead events removed.\n", run("events", "purge", "acme", id))
	id, _, _ = strings.Cut(listed[0], " ")
	require.Equal(t, `{"retried":1,"left":1}`+"\n", run("events", "retry", "acme", id, "--json"))
	require.Equal(t, "1 dead events will be posted again.\n", run("events", "retry", "acme"))
	require.Empty(t, run("events", "list", "acme"))
	_, err := command(t, environ, "", "account", "events", "purge", "acme", id)
	require.ErrorContains(t, err, "no dead event")
}
