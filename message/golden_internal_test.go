package message

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func golden(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return strings.TrimSuffix(string(text), "\n")
}

func TestContentV1IsReadForEver(t *testing.T) {
	t.Parallel()
	m := Message{
		Title: "Shipped", Body: "It is \"on\" its way 🙂\n", Data: map[string]string{"order": "17", "empty": ""},
	}
	want := Content{Title: m.Title, Body: m.Body, Data: m.Data}
	text := golden(t, "content.v1.json")
	for _, text := range []string{text, strings.Replace(text, "{", `{"icon":{"new":true},`, 1)} {
		got, err := DecodeContent([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	written, err := EncodeContent(m)
	require.NoError(t, err)
	require.JSONEq(t, text, string(written))

	_, err = DecodeContent(nil)
	require.ErrorContains(t, err, "content of a message")
}

func TestContentV2IsReadForEver(t *testing.T) {
	t.Parallel()
	text := golden(t, "content.v2.json")
	got, err := DecodeContent([]byte(text))
	require.NoError(t, err)
	require.Equal(t, Content{Title: "Shipped", PushContent: wholePushContent()}, got)
	written, err := EncodeContent(Message{Title: "Shipped", PushContent: wholePushContent()})
	require.NoError(t, err)
	require.Equal(t, text, string(written))
}

func wholePushContent() PushContent {
	return PushContent{
		Image: "https://example.com/a.png", ClickURL: "myapp://orders/17", Badge: new(0), Sound: "ding", Priority: PriorityHigh,
		CollapseKey: "orders", To: &Target{Channel: "fcm", App: "shop", Device: "phone"},
		Channels: map[string]json.RawMessage{"webpush": []byte(`{"ttl":60}`), "fcm": []byte(`{"android":{"a":1}}`)},
	}
}

// wholeMessage has every field set.
func wholeMessage() Message {
	at := time.Date(2026, time.November, 22, 11, 11, 11, 123e6, time.UTC)
	return Message{
		ID: "order-17", User: "alice", SendAt: at, Category: "orders", Title: "Shipped", Body: "It is on its way.",
		Data:      map[string]string{"order": "17", "colour": "red"},
		ExpiresAt: at.Add(time.Hour), OnConflict: "shift", ShiftUntil: at.Add(time.Minute),
	}
}

func wholeWindow() *Window {
	return &Window{From: wholeMessage().SendAt, Until: wholeMessage().SendAt.Add(time.Hour), Prefer: "nearest"}
}

// A fingerprint that changed would make every repeated request after an upgrade
// one with a used id.
func TestFingerprintIsPinned(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Message{
		"709a5661c75099f3253cea093a1c5d62": wholeMessage(),
		"38b15b6b5658598095a9065502a5da10": {
			ID: "other", User: "alice", Now: true, Title: "Shipped",
		},
		"82495a6377f8d0e33a43daab82cf7e19": {
			User: "alice", SendAt: wholeMessage().SendAt, Body: "Shipped", Campaign: "spring", Metadata: map[string]string{"b": "2", "a": "1"},
		},
		"7c03530161d3a079a815b4d694cbd19f": {
			User: "alice", SendAt: wholeMessage().SendAt, Body: "Shipped", Campaign: "spring", PushContent: wholePushContent(),
		},
		"34ff395a1c2925f78a5123b7521c13db": {User: "alice", SendAt: wholeMessage().SendAt, Body: "Shipped"},
	} {
		require.Equal(t, want, fingerprintHex(m))
	}
}

// Each field tells requests apart, but for the id, which is what they are
// compared under.
func TestFingerprintTellsRequestsApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{fingerprintHex(wholeMessage()): "unchanged"}
	for name, edit := range map[string]func(*Message){
		"user":                func(m *Message) { m.User = "alice2" },
		"send_at":             func(m *Message) { m.SendAt = m.SendAt.Add(time.Millisecond) },
		"now":                 func(m *Message) { m.Now = true },
		"category":            func(m *Message) { m.Category = "news" },
		"no category":         func(m *Message) { m.Category = "" },
		"title":               func(m *Message) { m.Title = "shipped" },
		"body":                func(m *Message) { m.Body = "" },
		"title into body":     func(m *Message) { m.Title, m.Body = m.Title[:3], m.Title[3:]+m.Body },
		"title and body":      func(m *Message) { m.Title, m.Body = m.Body, m.Title },
		"expires_at":          func(m *Message) { m.ExpiresAt = m.ExpiresAt.Add(time.Millisecond) },
		"no expires_at":       func(m *Message) { m.ExpiresAt = time.Time{} },
		"times swapped":       func(m *Message) { m.ExpiresAt, m.ShiftUntil = m.ShiftUntil, m.ExpiresAt },
		"on_conflict":         func(m *Message) { m.OnConflict = "refuse" },
		"default on_conflict": func(m *Message) { m.OnConflict = "" }, // before defaults
		"shift_until":         func(m *Message) { m.ShiftUntil = m.ShiftUntil.Add(time.Millisecond) },
		"no shift_until":      func(m *Message) { m.ShiftUntil = time.Time{} },
		"no data":             func(m *Message) { m.Data = nil },
		"a value":             func(m *Message) { m.Data = map[string]string{"order": "18", "colour": "red"} },
		"a name":              func(m *Message) { m.Data = map[string]string{"order": "17", "color": "red"} },
		"one more":            func(m *Message) { m.Data = map[string]string{"order": "17", "colour": "red", "": ""} },
		"name into value":     func(m *Message) { m.Data = map[string]string{"order1": "7", "colour": "red"} },
		"campaign":            func(m *Message) { m.Campaign = "spring" },
		"metadata":            func(m *Message) { m.Metadata = map[string]string{"order": "17", "colour": "red"} },
		"data as metadata":    func(m *Message) { m.Metadata, m.Data = m.Data, nil },
		"both":                func(m *Message) { m.Campaign, m.Metadata = "spring", map[string]string{"alice": ""} },
		"a campaign of two":   func(m *Message) { m.Campaign, m.Metadata = "spring", map[string]string{"alice": "", "b": ""} },
		"image":               func(m *Message) { m.Image = "https://a/b" },
		"click_url":           func(m *Message) { m.ClickURL = "https://a/b" },
		"badge":               func(m *Message) { m.Badge = new(0) },
		"another badge":       func(m *Message) { m.Badge = new(1) },
		"sound":               func(m *Message) { m.Sound = "high" },
		"priority":            func(m *Message) { m.Priority = "high" },
		"collapse_key":        func(m *Message) { m.CollapseKey = "high" },
		"for fcm":             func(m *Message) { m.Channels = map[string]json.RawMessage{"fcm": []byte(`{}`)} },
		"for apns":            func(m *Message) { m.Channels = map[string]json.RawMessage{"apns": []byte(`{}`)} },
		"for both":            func(m *Message) { m.Channels = map[string]json.RawMessage{"apns": []byte(`{}`), "fcm": []byte(`{}`)} },
		"to a channel":        func(m *Message) { m.To = &Target{Channel: "fcm"} },
		"to an app":           func(m *Message) { m.To = &Target{App: "fcm"} },
		"to a device":         func(m *Message) { m.To = &Target{Device: "fcm"} },
		"push and campaign":   func(m *Message) { m.Campaign, m.Sound = "spring", "high" },
		"local": func(m *Message) {
			m.Local = &LocalTimes{SendAt: LocalTime{"2026-11-22T12:11:11", "Europe/Berlin"}}
		},
		"window":          func(m *Message) { m.Window = wholeWindow() },
		"earliest":        func(m *Message) { m.Window = wholeWindow(); m.Window.Prefer = "" },
		"window until":    func(m *Message) { m.Window = wholeWindow(); m.Window.Until = m.Window.Until.Add(time.Millisecond) },
		"window from now": func(m *Message) { m.Window = wholeWindow(); m.Window.From = time.Time{} },
		"local window": func(m *Message) {
			m.Window, m.Local = wholeWindow(), &LocalTimes{From: LocalTime{"2026-11-22T12:11:11", ZoneUser}}
		},
		"local end of the window": func(m *Message) {
			m.Window, m.Local = wholeWindow(), &LocalTimes{Until: LocalTime{"2026-11-22T12:11:11", ZoneUser}}
		},
		"following the user": func(m *Message) {
			m.Local = &LocalTimes{SendAt: LocalTime{"2026-11-22T12:11:11", ZoneUser}, FollowZone: true}
		},
		"of the user": func(m *Message) { m.Local = &LocalTimes{SendAt: LocalTime{"2026-11-22T12:11:11", ZoneUser}} },
		"strictly": func(m *Message) {
			m.Local = &LocalTimes{SendAt: LocalTime{"2026-11-22T12:11:11", ZoneUser}, Strict: true}
		},
		"local expires_at":  func(m *Message) { m.Local = &LocalTimes{ExpiresAt: LocalTime{"2026-11-22T12:11:11", ZoneUser}} },
		"local shift_until": func(m *Message) { m.Local = &LocalTimes{ShiftUntil: LocalTime{"2026-11-22T12:11:11", ZoneUser}} },
		"values swapped":    func(m *Message) { m.Data = map[string]string{"order": "red", "colour": "17"} },
	} {
		m := wholeMessage()
		edit(&m)
		mark := fingerprintHex(m)
		require.Len(t, mark, 32)
		require.NotContains(t, seen, mark, "%s looks like %s", name, seen[mark])
		seen[mark] = name
	}

	same := wholeMessage()
	same.ID, same.SendAt = "", same.SendAt.Add(999*time.Microsecond).In(time.FixedZone("", 3600))
	require.Equal(t, fingerprintHex(wholeMessage()), fingerprintHex(same), "the id does not count, nor what is finer than a millisecond")
	asked := wholeMessage()
	asked.Local = &LocalTimes{SendAt: LocalTime{"2026-11-22T12:11:11", ZoneUser}}
	resolved := asked
	resolved.SendAt = asked.SendAt.Add(time.Hour)
	require.Equal(t, fingerprintHex(asked), fingerprintHex(resolved), "the words count, not the instant")
	asked.Window = wholeWindow()
	asked.Local = &LocalTimes{From: LocalTime{"2026-11-22T12:11:11", ZoneUser}}
	resolved = asked
	resolved.Window = &Window{From: asked.Window.From.Add(time.Hour), Until: asked.Window.Until, Prefer: asked.Window.Prefer}
	require.Equal(t, fingerprintHex(asked), fingerprintHex(resolved), "the same for the ends of a window")
	same.Data = map[string]string{}
	none := same
	none.Data, none.Channels = nil, map[string]json.RawMessage{}
	require.Equal(t, fingerprintHex(none), fingerprintHex(same), "empty data is none")
}

// Every file in testdata is held by a test above.
func TestGoldenFilesAreAllHeld(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.Equal(t, []string{"testdata/content.v1.json", "testdata/content.v2.json"}, files)
}

func fingerprintHex(m Message) string {
	mark := Fingerprint(m)
	return hex.EncodeToString(mark[:])
}

// The account is part of what is asked for; without one nothing has changed.
func TestFingerprintOfAnAccount(t *testing.T) {
	t.Parallel()
	m := Message{User: "alice", SendAt: time.UnixMilli(1763810471000), Title: "Hi", Data: map[string]string{"k": "v"}}
	plain := Fingerprint(m)
	require.Equal(t, "076c900e105c39128a522e6bb48cdafe", hex.EncodeToString(plain[:]))
	m.Account = "acme"
	of := Fingerprint(m)
	require.Equal(t, "5d5a1c8e43715aced66c2eff92189925", hex.EncodeToString(of[:]))
}

// Both ways to read a draft agree: the fast one reads every draft without faults, except
// one with escapes, which it may leave to the other, and nothing else.
func FuzzReadDraft(f *testing.F) {
	for _, text := range []string{
		`{"id":"order-17","user":"alice","send_at":"2026-11-22T12:11:11.1239+01:00","category":"orders","title":"t","body":"b",` +
			`"data":{"order":"17","empty":""},"campaign":"spring","metadata":{"source":"shop"},"expires_at":"x","on_conflict":"shift","shift_until":"y"}`,
		`{"metadata":{"a":"b"},"data":{"a":"b"}}`, `{"metadata":{"a":"b","a":"b"}}`, `{"metadata":{},"metadata":{}}`, `{"metadata":{"a":1}}`,
		`{"metadata":"a"}`, `{"metadata":null,"campaign":null}`, `{"campaign":"a","campaign":"a"}`, `{"campaign":{}}`,
		`{"image":"https://a/b","click_url":"a:b","sound":"c","priority":"high","collapse_key":"k","badge":3,` +
			`"channels":{"fcm":{"a":[1,{"b":null}]},"apns":{}, "webpush" : { "ttl" : 60 }},"to":{"channel":"fcm","app":"shop","device":"phone"}}`,
		`{"badge":0}`, `{"badge":-0}`, `{"badge":null}`, `{"to":{}}`, `{"to":null}`, `{"to":{"app":null}}`, `{"channels":{}}`, `{"channels":null}`,
		`{"channels":{"fcm":null,"x":1,"":[]}}`, `{"channels":{"a":{"b":"\u0061"}}}`,
		"\t{\"user\" : \"alice\",\r\n\"data\": {} , \"body\":\"b\"}\n", `{"user":"\u0061\ud83d\ude42\"\n"}`, `{"us\u0065r":"a"}`,
		`{"id":null,"user":null,"data":null}`, `{}`, ` {} `, `{"user":"🙂"}`, `{"data":{"a":"b\u0000"}}`,
		`{"send_at":{"local":"2027-06-22T09:00","zone":"user"},"expires_at":{"local":"a"},"shift_until":{"zone":null},"clock_strict":true}`,
		`{"send_at":{}}`, `{"send_at":null,"shift_until":"a"}`,
		// No drafts, and drafts with faults.
		`{"send_at":{"Local":"a"}}`, `{"send_at":{"local":"a","local":"b"}}`, `{"send_at":{"local":1}}`, `{"send_at":{"local":{}}}`,
		`{"send_at":{"local":"a","zo\u006ee":"b"}}`, `{"send_at":{"local":"a","place":"b"}}`, `{"send_at":{"local":"\ud800"}}`, `{"send_at":1}`,
		``, ` `, `null`, `[]`, `"a"`, `{`, `{"user"`, `{"user":`, `{"user":"a"`, `{"user":"a",}`, `{,}`, `{} {}`, `{}}`, `{"user" "a"}`,
		`{"id":""}`, `{"User":"a"}`, `{"zeal":"a"}`, `{"":"a"}`, `{"user":1}`, `{"user":{}}`, `{"user":[]}`, `{"user":true}`,
		`{"user":"a","user":"a"}`, `{"user":"a","us\u0065r":"a"}`, `{"user":null,"user":null}`, `{"id":null,"id":"a"}`,
		`{"badge":1.0}`, `{"badge":1e2}`, `{"badge":"1"}`, `{"badge":99999999999999999999}`, `{"badge":1,"badge":1}`, `{"badge":[]}`,
		`{"to":1}`, `{"to":[]}`, `{"to":{"user":"a"}}`, `{"to":{"app":1}}`, `{"to":{"app":{}}}`, `{"to":{"app":"a","app":"a"}}`,
		`{"to":{"app":null,"app":null}}`, `{"to":{"\u0061pp":"a"}}`, `{"to":{},"to":{}}`, `{"to":{"app"}}`, `{"to":{"app":"a",}}`,
		`{"channels":1}`, `{"channels":[]}`, `{"channels":{"a":{},"a":{}}}`, `{"channels":{"a":{"b":1,"b":1}}}`, `{"channels":{"a":{"b":[{"c":1,"c":1}]}}}`,
		`{"channels":{"a":{},"\u0061":{}}}`, `{"channels":{"a":{"b":"\ud800"}}}`, "{\"channels\":{\"a\":\"\xff\"}}", `{"channels":{"a":}}`, `{"channels":{},"channels":{}}`,
		`{"data":1}`, `{"data":[]}`, `{"data":{"a":null}}`, `{"data":{"a":1}}`, `{"data":{"a":{}}}`, `{"data":{"a":"b","a":"b"}}`,
		`{"data":{"a":"b","\u0061":"b"}}`, `{"data":{"a":"b"},"data":{"c":"d"}}`, `{"data":{"a"}}`, `{"data":{"a":"b",}}`,
		"{\"user\":\"a\xff\"}", "{\"data\":{\"\xff\":\"a\"}}", `{"user":"a\ud800"}`, `{"user":"\ude42\ud83d"}`, "{\"user\":\"a\x01\"}",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fast, ok := readDraft([]byte(text))
		slow, err := decodeFaulty([]byte(text))
		faultless := err == nil && slow.faults == nil
		if !ok {
			require.False(t, faultless && !strings.Contains(text, `\`), text)
			return
		}
		require.True(t, faultless, text)
		if len(slow.Data) == 0 {
			slow.Data = nil
		}
		if len(slow.Metadata) == 0 {
			slow.Metadata = nil
		}
		for name, override := range slow.Channels { // it was encoded once more
			require.Equal(t, string(canonicalJSON(override)), string(canonicalJSON(fast.Channels[name])), text)
			fast.Channels[name] = override
		}
		require.Equal(t, slow, fast, text)
	})
}
