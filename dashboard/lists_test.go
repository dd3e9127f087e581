package dashboard_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// Filters are in the address. They stay while one pages, and in the download.
func TestFiltersSurvivePaging(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := keyless(t).browser()
	for i := range 120 {
		b.accepts(map[string]any{"user": fmt.Sprintf("a+b &%03d", i), "id": "m", "title": "Hi", "send_at": "+1h"})
	}
	b.accepts(map[string]any{"user": "other", "id": "m", "title": "Hi", "send_at": "+1h"})
	const filters = "?user_prefix=a%2Bb+%26&status=scheduled&from=2026-11-21T10:30&until=2026-11-22"
	seen, pages := make(map[string]int), 0
	for next := "/messages" + filters; next != ""; pages++ {
		shown := b.shows(next)
		require.Equal(t, shown.text, b.shows(next).text, "going back shows the same page")
		require.Equal(t, "a+b &", shown.value("user_prefix"))
		require.Equal(t, "2026-11-21T10:30:00", shown.value("from"), "in UTC, as its label says")
		for _, row := range shown.cells() {
			seen[row[1]]++
		}
		download, err := url.Parse(shown.link("Download as CSV"))
		require.NoError(t, err)
		require.Equal(t, "a+b &", download.Query().Get("user_prefix"))
		require.False(t, download.Query().Has("cursor"), "all of them, not only this page")
		if pages > 0 {
			first, err := url.Parse(shown.link("First page"))
			require.NoError(t, err)
			require.Equal(t, "scheduled", first.Query().Get("status"))
			require.False(t, first.Query().Has("cursor"))
		}
		next = ""
		if further := shown.links("Next page"); len(further) > 0 {
			next = further[0]
		}
		require.Less(t, pages, 100)
	}
	delete(seen, "User")
	require.Len(t, seen, 120)
	require.NotContains(t, seen, "other")

	rows, err := csv.NewReader(strings.NewReader(b.get("/messages" + filters + "&format=csv").body)).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 121)
}

// Every time on a page has a zone.
func TestTimesHaveAZone(t *testing.T) {
	t.Parallel()
	b := populated(t)
	b.passes(time.Minute)
	zoned := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d+)?)?( [A-Z]{3,5}| [+-]\d\d)?`)
	found := 0
	for _, address := range append(pages(), "/user?name=alice&zone=Europe%2FBerlin", "/user?name=alice&zone=America%2FSao_Paulo") {
		got := b.get(address)
		if got.status != ok {
			continue
		}
		for _, at := range zoned.FindAllString(got.page().plain(), -1) {
			require.Regexp(t, ` ([A-Z]{3,5}|[+-]\d\d)$`, at, address)
			found++
		}
	}
	require.Greater(t, found, 30)
	require.Contains(t, b.shows("/user?name=alice&zone=Europe%2FBerlin").plain(), "12:00:00 CET")
}

// Nothing took less than no time.
func TestNoNegativeLengths(t *testing.T) {
	t.Parallel()
	b := populated(t)
	b.passed.Store(int64(-time.Hour)) // the local clock is behind that of the store
	negative := regexp.MustCompile(`[-−]\d+(\.\d+)? ?(ms|s|min|h|d)\b`)
	for _, address := range pages() {
		if got := b.get(address); got.status == ok {
			require.NotRegexp(t, negative, got.page().plain(), address)
		}
	}
	b.passed.Store(int64(3 * time.Hour))
	require.Contains(t, b.shows("/message?user=alice&id=m").plain(), "(2 h ago)")
}

// A time or a zone that can't be read is said, and the page shows the present.
func TestAddressesOfATimeline(t *testing.T) {
	t.Parallel()
	b := keyless(t).browser()
	b.submits("m", "+1h")
	require.Contains(t, b.shows("/user?name=alice&zone=Mars").plain(), `time_zone "Mars" is not allowed: use an IANA time zone`)
	require.Contains(t, b.shows("/user?name=alice&zone=Local").plain(), `time_zone "Local" is not allowed`)
	require.Contains(t, b.shows("/user?name=alice&at=soon").plain(), "The time soon is invalid")
	require.Contains(t, b.shows("/user?name=alice&at=0001-01-01").plain(), "is invalid")
	require.Equal(t, "/users", b.get("/user").to())
	require.Equal(t, "/user?name=alice", b.get("/users?name=alice").to())

	shown := b.shows("/user?name=alice&span=6h&zone=Europe%2FBerlin&rule=5%2Fhour&category=news&at=2026-11-21T10:00:00Z")
	for text, at := range map[string]string{"Later →": "2026-11-21T14:30:00Z", "← Earlier": "2026-11-21T05:30:00Z"} {
		to, err := url.Parse(shown.link(text))
		require.NoError(t, err)
		require.Equal(t, form("name", "alice", "span", "6h", "zone", "Europe/Berlin", "rule", "5/hour", "category", "news", "at", at), to.Query())
	}
}

// What a download says while it goes on can't be taken back: it breaks off.
func TestADownloadOfManyPages(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	b := keyless(t).browser()
	for i := range 60 {
		b.done(b.post("/user/settings", "name", fmt.Sprintf("user%d", i), "limits", "20/calendar_day"))
	}
	for list, rows := range map[string]int{"users": 61, "audit": 61, "policies": 2, "accounts": 1, "tiers": 1, "dead-letters": 1, "alerts": 1, "workers": 1, "schedule": 1} {
		got := b.get("/" + list + "?format=csv")
		all, err := csv.NewReader(strings.NewReader(got.body)).ReadAll()
		require.NoError(t, err)
		require.Len(t, all, rows, list)
		require.Equal(t, `attachment; filename="`+list+`.csv"`, got.header.Get("Content-Disposition"))
	}
	var away outage
	b.client.AddHook(redistest.Calls(away.onCall))
	away.begins("", 0)
	got := b.get("/users?format=csv")
	require.Equal(t, 503, got.status)
	require.Empty(t, got.header.Get("Content-Disposition"))
}

// The search finds a campaign of each account that has messages of it, for whoever reaches them.
func TestTheSearchFindsCampaigns(t *testing.T) {
	t.Parallel()
	r := locked(t)
	r.acceptsOf("acme", map[string]any{"user": "alice", "id": "m", "title": "Hi", "send_at": "+1h", "campaign": "spring"})
	r.acceptsOf("beta", map[string]any{"user": "bob", "id": "m", "title": "Hi", "send_at": "+1h", "campaign": "spring"})
	shown := r.operator().shows("/search?q=spring").plain()
	require.Contains(t, shown, "1 message of the account acme")
	require.Contains(t, shown, "1 message of the account beta")
	got := r.sender("acme").get("/search?q=spring")
	require.Equal(t, "/campaign?account=acme&name=spring", got.to(), "the only hit")
}
