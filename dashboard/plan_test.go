package dashboard_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lines reads an answer of many lines.
func (a answer) lines() []map[string]any {
	a.Helper()
	require.Equal(a, ok, a.status, a.body)
	require.Equal(a, "application/x-ndjson", a.header.Get("Content-Type"))
	require.Equal(a, "no-store", a.header.Get("Cache-Control"))
	var list []map[string]any
	for text := range strings.Lines(a.body) {
		var line map[string]any
		require.NoError(a, json.Unmarshal([]byte(text), &line), text)
		list = append(list, line)
	}
	return list
}

// plan sends a file.
func (b *browser) plan(target, file string) answer {
	b.Helper()
	return b.ask("POST", target, file)
}

// drafts returns the messages of a file that was read, as a script sends them on.
func drafts(lines []map[string]any) string {
	var text strings.Builder
	for _, line := range lines {
		if draft, there := line["draft"]; there {
			_ = json.NewEncoder(&text).Encode(draft) // it was JSON
		}
	}
	return text.String()
}

const file = "user,title,send_at\nalice,Hi,2026-11-22T11:11:11Z\nalice,Hi,2026-11-22T11:11:30Z\nbob,\"<b>, \"\"Hi\"\"\",2026-11-22T12:00:00+00:00\nbob,Hi,soon\n"

// judged requires that a file is judged, and returns its messages and where they are submitted.
func (b *browser) judged(campaign, file string) (messages, submit string, outcomes []map[string]any) {
	b.Helper()
	messages = drafts(b.plan("/plan/read?campaign="+campaign, file).lines())
	got := b.plan("/plan/judge?campaign="+campaign, messages)
	return messages, "/plan/submit?campaign=" + campaign + "&digest=" + got.header.Get("Plan-Digest"), got.lines()
}

// A file is read, judged, and submitted; submitted again it changes nothing.
func TestACampaignFromAFile(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	read := b.plan("/plan/read?campaign=spring", file).lines()
	require.Len(t, read, 4)
	first, isMap := read[0]["draft"].(map[string]any)
	require.True(t, isMap)
	require.Equal(t, "spring", first["campaign"])
	require.Equal(t, "2026-11-22T11:11:11Z", first["send_at"])
	require.Regexp(t, `^plan-[0-9a-f]{12}-\d+$`, first["id"])
	require.Equal(t, read, b.plan("/plan/read?campaign=spring", file).lines(), "the same file has the same ids")

	messages, submit, judged := b.judged("spring", file)
	require.Equal(t, []any{"accepted", "refused", "accepted", "invalid"}, outcomes(judged)[:4])
	require.Nil(t, judged[0]["replayed"])
	tried := b.plan("/plan/judge?what_if=2/minute", messages)
	require.Equal(t, "accepted", tried.lines()[1]["outcome"], "under other limits")
	require.Empty(t, tried.header.Get("Plan-Digest"), "nothing is submitted under them")
	require.Empty(t, b.entries(), "nothing is changed")
	require.Contains(t, b.shows("/messages").plain(), "No messages yet.")

	b.logs("submit batch; 4 messages of the campaign spring; done", func() {
		require.Equal(t, []any{"accepted", "refused", "accepted", "invalid"}, outcomes(b.plan(submit, messages).lines())[:4])
	})
	_, _, judged = b.judged("spring", file)
	require.Equal(t, true, judged[0]["replayed"], "it was submitted before")
	again := b.plan(submit, messages).lines()
	require.Equal(t, []any{"accepted", "refused", "accepted", "invalid"}, outcomes(again)[:4])
	require.Equal(t, true, again[0]["replayed"])
	require.Contains(t, b.shows("/campaign?name=spring").plain(), "scheduled2")
}

// Nothing is submitted that was not judged as it is, under the policies as they are.
func TestWhatIsSubmittedWasJudged(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	messages, submit, _ := b.judged("spring", file)
	refused := func(target, messages string) {
		t.Helper()
		got := b.ask("POST", target, messages, script()).json(http.StatusConflict)
		require.Contains(t, got["detail"], "Nothing was submitted: the file or a policy has changed")
	}
	refused("/plan/submit?campaign=spring", messages)
	refused(strings.Replace(submit, "spring", "summer", 1), messages)
	refused(submit, strings.Replace(messages, "11:11:11Z", "11:11:12Z", 1))
	refused(submit, messages+messages)
	b.logs("apply policy; default; rules 2/hour; time zone UTC; alert at 80, 100; on conflict refuse; done", func() {
		fields := b.shows("/policy?name=default").fields("/policy/apply")
		fields.Set("rules", "2/hour")
		_, got := b.applies(fields)
		b.done(got)
	})
	refused(submit, messages)
	require.Empty(t, b.about("submit campaign"))
	require.Contains(t, b.shows("/messages").plain(), "No messages yet.")
	messages, submit, _ = b.judged("spring", file)
	require.Equal(t, "accepted", b.plan(submit, messages).lines()[1]["outcome"])
}

// A time without a zone is refused, as by the command line, unless the zone of the file is given.
func TestTheZoneOfAFile(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	const file = "user,title,send_at,expires_at\na,Hi,2026-11-22T11:11:11,\nb,Hi,2026-11-22 11:11,2026-11-23 00:00\nc,Hi,2026-11-22T11:11:11+01:00,\nd,Hi,now,\n" +
		"e,Hi,2027-03-28 02:30,\nf,Hi,2026-11-22T11:11:11Z,2026-11-23 00:00\n"
	const noZone = "2040-06-22T11:11:11+01:00, or choose the time zone of the file"
	local := func(at, zone string) any { return map[string]any{"local": at, "zone": zone} }
	for query, want := range map[string][]any{
		"": {noZone, noZone, "2026-11-22T11:11:11+01:00", "now", noZone, `expires_at "2026-11-23 00:00" is not allowed: use a time with its zone`},
		"zone=user": {
			local("2026-11-22T11:11:11", "user"), local("2026-11-22 11:11", "user"), "2026-11-22T11:11:11+01:00", "now",
			local("2027-03-28 02:30", "user"), "2026-11-22T11:11:11Z",
		},
	} {
		for i, line := range b.plan("/plan/read?"+query, file).lines() {
			if draft, read := line["draft"].(map[string]any); read {
				require.Equal(t, want[i], draft["send_at"], query)
			} else {
				require.Contains(t, line["wrong"], want[i], query)
			}
		}
	}
	for _, zone := range []string{"Mars/Olympus", "Local", "../etc/passwd"} {
		require.Equal(t, invalid, b.plan("/plan/read?zone="+zone, file).status)
	}
}

func outcomes(lines []map[string]any) (list []any) {
	for _, line := range lines {
		list = append(list, line["outcome"])
	}
	return list
}

// What is wrong with a line is said at that line.
func TestLinesOfAFileThatAreWrong(t *testing.T) {
	t.Parallel()
	b := locked(t).operator()
	read := b.plan("/plan/read", `{"user":"alice","title":"Hi","send_at":"now"}`+"\n{broken\n"+`{"user":"bob","nonsense":1}`+"\n").lines()
	require.NotEmpty(t, read)
	require.Contains(t, read[0], "draft")
	wrong := 0
	for _, line := range read[1:] {
		if line["wrong"] != nil {
			wrong++
		}
	}
	require.Positive(t, wrong)
	require.Less(t, b.plan("/plan/read", "").status, 500)
	require.Less(t, b.plan("/plan/read", "\x00\xff\xfe").status, 500)
	require.Equal(t, ok, b.plan("/plan/judge", "").status)
}

// The page has sliders for the default policy, for who may see it.
func TestThePlanPage(t *testing.T) {
	t.Parallel()
	r := locked(t)
	require.Len(t, r.operator().shows("/plan").find("input", "class", "limit"), 3)
	require.Empty(t, r.sender("own").shows("/plan").find("input", "class", "limit"))
}
