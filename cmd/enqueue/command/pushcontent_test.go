package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
)

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
