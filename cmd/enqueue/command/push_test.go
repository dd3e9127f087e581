package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

func TestPush(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	require.Equal(t, "accepted: alice gets a message at 2093-11-22 11:11:11 UTC (in 1 day 1 hour)\n  id order-17\n",
		f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "order-17", "--title", "Hi"))
	require.Equal(t, "accepted before: alice gets a message at 2093-11-22 11:11:11 UTC (in 1 day 1 hour)\n  id order-17\n",
		f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "order-17", "--title", "Hi"))
	require.Equal(t, "accepted: alice gets a message at 2093-11-22 11:12:11 UTC (in 1 day 1 hour)\n"+
		"  the next free time after 2093-11-22 11:11:12 UTC\n  id order-18\n",
		f.prints(t, "push", "--user", "alice", "--at", on22("11:11:12"), "--id", "order-18", "--title", "Hi", "--on-conflict", "shift"))
	require.Equal(t, "accepted: alice gets a message at 2093-11-22 12:30:00 CET (in 1 day 1 hour)\n  id order-19\n",
		f.prints(t, "push", "--user", "alice", "--at", "2093-11-22 12:30", "--tz", "Europe/Berlin", "--id", "order-19", "--title", "Hi"))
	made := f.prints(t, "push", "--user", "bob", "--at", "now", "--title", "Hi")
	require.Regexp(t, `^accepted: bob gets a message at 2093-11-21 10:00:00 UTC\n  id [0-9a-f-]{36}\n$`, made)
	require.Regexp(t, `^accepted: bob gets a message at 2093-11-21 11:30:00 UTC \(in 1 hour 30 minutes\)\n`,
		f.prints(t, "push", "--user", "bob", "--at", "+90m", "--title", "Hi"))
}

func TestARefusalExplainsItself(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "order-17", "11:11:11")
	got := f.run(t, "push", "--user", "alice", "--title", "Your table's ready", "--at", on22("11:11:12"), "--data", "a=b c", "--data", "d=")
	require.Equal(t, 3, got.status)
	require.Empty(t, got.stderr)
	require.Equal(t, `refused: alice can't get a message at 2093-11-22 11:11:12 UTC

  ---##################################oX##################################---
    ^ 11:10:11 free                                          11:12:11 free ^
                                        ^ 11:11:12 asked
  o in the way   # taken   - free

  1/minute  at most 1 in any minute:
              11:11:11  order-17  Hi

  free before  2093-11-22 11:10:11 UTC
  next free    2093-11-22 11:12:11 UTC

  try  sendlimit push --user alice --title 'Your table'"'"'s ready' --at 2093-11-22T11:12:11Z --data 'a=b c' --data d=
`, got.stdout)
	require.Zero(t, f.run(t, "push", "--user", "alice", "--title", "Your table's ready", "--at", on22("11:12:11")).status,
		"what it says to try is accepted")
}

func TestARefusalByManyRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i, clock := range []string{
		"01:00:00", "02:00:00", "03:00:00", "04:00:00", "05:00:00", "11:00:00", "11:05:00", "11:10:00", "11:15:00", "11:20:00",
	} {
		f.push(t, "m"+string(rune('0'+i)), clock)
	}
	f.environ = append(f.environ, "LC_ALL=C", "LC_ALL=en_US.UTF-8")
	got := f.run(t, "push", "--user", "alice", "--at", "2093-11-22 12:10:30", "--tz", "Europe/Berlin", "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.Equal(t, `refused: alice can't get a message at 2093-11-22 12:10:30 CET

  ───▒▒▒●▒▒●▒▒●▒▒●▒●▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒●✗●▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒───
    ^ 00:59:59.999 free                           2093-11-23 01:00:00 free ^
                                     ^ 12:10:30 asked
  ● in the way   ▒ taken   ─ free

  1/minute         at most 1 in any minute:
                     12:10:00  m7  Hi
  5/hour           at most 5 in any hour:
                     12:00:00  m5  Hi
                     12:05:00  m6  Hi
                     12:10:00  m7  Hi
                     12:15:00  m8  Hi
                     12:20:00  m9  Hi
  10/calendar_day  at most 10 in a calendar day (2093-11-22 01:00:00 CET – 2093-11-23 01:00:00 CET):
                     02:00:00  m0  Hi
                     03:00:00  m1  Hi
                     04:00:00  m2  Hi
                     05:00:00  m3  Hi
                     06:00:00  m4  Hi
                     and 5 more

  free before  2093-11-22 00:59:59.999 CET
  next free    2093-11-23 01:00:00 CET

  try  sendlimit push --user alice --at 2093-11-23T00:00:00Z --tz Europe/Berlin --title Hi
`, got.stdout)
}

func TestARefusalWithoutAFreeTimeBefore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", "+30s", "--id", "soon", "--title", "Hi")
	got := f.run(t, "push", "--user", "alice", "--at", "now", "--on-conflict", "refuse", "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "\n  free before  none\n  next free    2093-11-21 10:01:30 UTC\n")
	require.Contains(t, got.stdout, "\n  X#######################o################################################---\n")
	require.Contains(t, got.stdout, "\n  ^ 10:00:00 asked\n")
}

func TestARefusalWithoutAFreeTimeAfter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.environ = append(f.environ, "SENDLIMIT_REACH=1m")
	f.prints(t, "push", "--user", "alice", "--at", "+60s", "--id", "late", "--title", "Hi")
	got := f.run(t, "push", "--user", "alice", "--at", "+30s", "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "\n  free before  2093-11-21 10:00:00 UTC\n  next free    none\n")
	require.Contains(t, got.stdout, "--at 2093-11-21T10:00:00Z", "the one before is what is left to try")
}

// The next free time is no use to a message that has expired by then.
func TestWhatIsSuggestedIsBeforeTheExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "order-17", "11:11:11")
	got := f.run(t, "push", "--user", "alice", "--at", on22("11:11:12"), "--expires-at", on22("11:12:11"), "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "try  sendlimit push --user alice --at 2093-11-22T11:10:11Z --expires-at")
}

// A shift that may not go so far is no shift to be tried.
func TestWhatIsSuggestedIsAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "order-17", "11:11:11")
	got := f.run(t, "push", "--user", "alice", "--at", on22("11:11:12"), "--on-conflict", "shift",
		"--shift-until", on22("11:11:42"), "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout,
		"try  sendlimit push --user alice --at 2093-11-22T11:12:11Z --on-conflict shift --title Hi\n")
}

// A bound without a shift would have no effect.
func TestShiftUntilNeedsAShift(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	push := []string{"push", "--user", "alice", "--at", on22("11:11:11"), "--shift-until", on22("12:00:00"), "--title", "Hi"}
	got := f.run(t, push...)
	require.Equal(t, result{2, "", "error: --shift-until requires --on-conflict shift: the user's policy does not shift\n"}, got)
	require.Contains(t, f.prints(t, "list", "--user", "alice"), "no messages")

	shifting, err := policy.Parse(policy.DefaultName, "", "1/minute")
	require.NoError(t, err)
	shifting.OnConflict = policy.Shift
	f.apply(t, shifting)
	require.Contains(t, f.prints(t, push...), "accepted")
}

func TestARefusalShowsNoPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.server.RequireAuth("secret")
	url := "redis://:secret@" + f.server.Addr()
	for _, at := range []string{"11:11:11", "11:11:12"} {
		got := f.run(t, "push", "--redis-url", url, "--user", "alice", "--at", on22(at), "--id", at, "--title", "Hi")
		require.NotContains(t, got.stdout+got.stderr, "secret")
		if at == "11:11:12" {
			require.Contains(t, got.stdout, "--redis-url 'redis://:***@"+f.server.Addr()+"'")
		}
	}
}

func TestPushJSON(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	push := func(args ...string) string {
		text := f.run(t, append([]string{"push", "--json", "--user", "alice", "--title", "Hi"}, args...)...).stdout
		require.Equal(t, len(text)-1, strings.Index(text, "\n"), "an outcome is one line")
		return text
	}
	require.JSONEq(t, `{"outcome":"accepted","id":"a","user":"alice","send_at":"2093-11-22T11:11:11.000Z"}`,
		push("--id", "a", "--at", on22("11:11:11")))
	require.JSONEq(t, `{"outcome":"accepted","id":"a","user":"alice","send_at":"2093-11-22T11:11:11.000Z","replayed":true}`,
		push("--id", "a", "--at", on22("11:11:11")))
	require.Contains(t, push("--id", "c", "--at", on22("11:11:10.5")), `{"outcome":"refused","code":"send_limit","id":"c","user":"alice",`)
	require.JSONEq(t, `{"outcome":"invalid","code":"invalid_field","field":"at",
		"detail":"at \"tomorrow\" is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z, now, +90m or with --tz a local time such as \"2040-06-22 11:11\""}`,
		push("--at", "tomorrow"))
}

func TestPushDryRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "order-17", "11:11:11")
	before := f.everything()
	require.Equal(t, "would be accepted (dry run): alice gets a message at 2093-11-22 11:13:00 UTC (in 1 day 1 hour)\n",
		f.prints(t, "push", "--user", "alice", "--at", on22("11:13:00"), "--title", "Hi", "--dry-run"))
	require.Equal(t, "accepted before (dry run): alice gets a message at 2093-11-22 11:11:11 UTC (in 1 day 1 hour)\n",
		f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--title", "Hi", "--dry-run", "--id", "order-17"))
	got := f.run(t, "push", "--dry-run", "--user", "alice", "--at", on22("11:11:12"), "--title", "Hi")
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "try  sendlimit push --dry-run --user alice --at 2093-11-22T11:12:11Z --title Hi\n")
	require.Equal(t, before, f.everything())
}

func TestPushRefusesBadInput(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	long := strings.Repeat("x", 5000)
	base := map[string]string{"user": "alice", "at": on22("11:11:11"), "title": "Hi"}
	for _, row := range []struct{ flag, value, want string }{
		{"at", "2093-11-22T11:11:11", "at \"2093-11-22T11:11:11\" is not allowed: use a time with its zone"},
		{"at", "2093-11-21T09:59:54Z", "is in the past"},
		{"at", "+367d", "too far ahead: the latest send time is "},
		{"tz", "Mars/Olympus", `tz "Mars/Olympus" is not allowed: use an IANA time zone`},
		{"id", "a b", `id "a b" is not allowed: use 1 to 128 of`},
		{"user", "a\xffb", "user"},
		{"title", "", "title"},
		{"title", long, "5000 bytes"},
		{"meta", "=v", `--meta "=v" is not key=value`},
		{"data", "novalue", `--data "novalue" is not key=value`},
		{"expires-at", "now", `expires_at can't be now: it has to be after send_at`},
		{"expires-at", "soon", `expires_at "soon" is not allowed`},
	} {
		args := []string{"push"}
		for flag, value := range base {
			if flag != row.flag {
				args = append(args, "--"+flag, value)
			}
		}
		args = append(args, "--"+row.flag, row.value)
		got := f.run(t, args...)
		require.Equal(t, 2, got.status, "%s %q", row.flag, row.value)
		require.Empty(t, got.stdout)
		require.True(t, strings.HasPrefix(got.stderr, "error: "), got.stderr)
		require.Contains(t, got.stderr, row.want)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), "one sentence: %s", got.stderr)
		require.Less(t, len(got.stderr), 600)

		got = f.run(t, append(args, "--json")...)
		require.Equal(t, 2, got.status)
		require.Empty(t, got.stderr)
		require.Contains(t, got.stdout, `{"outcome":"invalid","code":"`)
	}
	gap := f.run(t, "push", "--user", "a", "--title", "Hi", "--tz", "Europe/Berlin", "--clock-strict", "--at", "2094-03-28 02:30")
	require.Equal(t, 2, gap.status)
	require.Contains(t, gap.stderr, "the nearest times are 2094-03-28 01:59:59 and 2094-03-28 03:00:00")
	require.Contains(t, f.prints(t, "list", "--user", "alice"), "no messages")
}

func TestPushCarriesEveryField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "i", "--title", "T", "--body", "B",
		"--category", "news", "--data", "k=v=w", "--data", "l=a,b", "--campaign", "spring", "--meta", "k=v=w", "--meta", "e=", "--expires-at", on22("12:00:00"))
	keys := keyspace.KeysUnder("sl")
	record := func(field string) string { return f.server.HGet(keys.Record("alice", "i"), field) }
	require.JSONEq(t, `{"title":"T","body":"B","data":{"k":"v=w","l":"a,b"}}`, record("c"))
	require.Equal(t, "news", record("k"))
	require.Equal(t, "spring", record("C"))
	require.JSONEq(t, `{"k":"v=w","e":""}`, record("M"))
	require.Equal(t, "3909729600000", record("x"))
}

func TestPushContentOfFlags(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.prints(t, "push", "--user", "alice", "--at", on22("11:11:11"), "--id", "a", "--title", "Hi", "--image", "https://example.com/a.png",
		"--click-url", "myapp://orders/17", "--badge", "0", "--sound", "ding", "--priority", "high", "--collapse-key", "orders",
		"--channels", `{"webpush": {"ttl": 60}, "fcm": {"a": "<b>"}}`, "--to-channel", "fcm", "--to-app", "shop", "--to-device", "phone")
	require.Contains(t, f.prints(t, "status", "--user", "alice", "a"), `  title     Hi
  image     https://example.com/a.png
  click_url  myapp://orders/17
  sound     ding
  priority  high
  collapse_key  orders
  badge     0
  channels.fcm  {"a":"<b>"}
  channels.webpush  {"ttl":60}
  to.channel  fcm
  to.app    shop
  to.device  phone
  history
`)
	f.prints(t, "change", "--user", "alice", "a", "--image", "", "--click-url", "", "--badge", "", "--sound", "bell", "--priority", "normal",
		"--collapse-key", "", "--channels", `{"fcm":null,"webpush":{"urgency":"low"}}`, "--to-channel", "", "--to-device", "tablet")
	require.Contains(t, f.prints(t, "status", "--user", "alice", "a"), `  title     Hi
  sound     bell
  priority  normal
  channels.webpush  {"ttl":60,"urgency":"low"}
  to.app    shop
  to.device  tablet
  history
`)
	f.prints(t, "change", "--user", "alice", "a", "--sound", "", "--priority", "", "--channels", "", "--to-app", "", "--to-device", "")
	require.Contains(t, f.prints(t, "status", "--user", "alice", "a"), "  title     Hi\n  history\n")
}

func TestPushContentOfFlagsThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	push := []string{"push", "--user", "alice", "--at", on22("11:11:11"), "--id", "a", "--title", "Hi"}
	f.prints(t, append(push, "--badge", "1")...)
	before := f.everything()
	for sentence, args := range map[string][]string{
		`badge "many" is not allowed: use a whole number from 0 to 2147483647`: {"--badge", "many"},
		`channels "[]" is not allowed: use a JSON object`:                      {"--channels", "[]"},
		`invalid JSON at byte 2: the text ends too early`:                      {"--channels", "{"},
	} {
		for _, command := range [][]string{push, append(push, "--dry-run"), {"change", "--user", "alice", "a"}} {
			got := f.run(t, append(command, args...)...)
			require.Equal(t, cli.StatusInvalid, got.status, sentence)
			require.Contains(t, got.stdout+got.stderr, sentence)
		}
	}
	require.Equal(t, before, f.everything(), "nothing was changed")
}

func TestDevicesOfAStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.push(t, "a", "11:11:11")
	f.record(t, "a", "s", "d", "e", unix("11:11:11"), "D", "dphone g@webhook")
	require.Contains(t, f.story(t, "a"), "  device    phone: delivered\n  device    @webhook: gone\n")
	f.push(t, "b", "12:11:11")
	f.record(t, "b", "s", "x", "e", unix("12:11:11"), "w", "no_device")
	require.Contains(t, f.story(t, "b"), "was not sent: the user had no device for it (at 2093-11-22 12:11:11 UTC)\n")
}
