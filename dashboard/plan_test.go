package dashboard_test

import (
	"encoding/json"
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

const file = "user,title,send_at\nalice,Hi,2026-11-22T11:11:11\nalice,Hi,2026-11-22T11:11:30\nbob,\"<b>, \"\"Hi\"\"\",2026-11-22 12:00\nbob,Hi,soon\n"

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

	judged := b.plan("/plan/judge", drafts(read)).lines()
	require.Equal(t, []any{"accepted", "refused", "accepted", "invalid"}, outcomes(judged)[:4])
	judged = b.plan("/plan/judge?what_if=2/minute", drafts(read)).lines()
	require.Equal(t, "accepted", judged[1]["outcome"], "under other limits")
	require.Empty(t, b.entries(), "nothing is changed")
	require.Contains(t, b.shows("/messages").plain(), "There are no messages yet.")

	b.logs("submit campaign; spring; 4 messages; done", func() {
		require.Equal(t, []any{"accepted", "refused", "accepted", "invalid"}, outcomes(b.plan("/plan/submit?campaign=spring", drafts(read)).lines())[:4])
	})
	again := b.plan("/plan/submit?campaign=spring", drafts(read)).lines()
	require.Equal(t, []any{"accepted", "refused", "accepted", "invalid"}, outcomes(again)[:4])
	require.Equal(t, true, again[0]["replayed"])
	require.Contains(t, b.shows("/campaign?name=spring").plain(), "scheduled2")
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
