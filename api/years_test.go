package api_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// RFC 3339 has years of four digits. A time that would be answered with another year is
// refused.
func TestNoAnswerHasAYearOfFiveDigits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	acme(r)
	const user, beyond, before = "/v1/users/alice", "9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00+12:00"
	at := func(text string) string { return url.QueryEscape(text) }
	for target, field := range map[string]string{
		user + "/usage?at=9999-12-31T23:59:59Z":                                                      "at",
		user + "/usage?at=9998-12-31T23:59:59Z":                                                      "at",
		user + "/usage?at=" + at(beyond):                                                             "at",
		user + "/usage?from=9999-12-31T00:00:00Z&until=" + at(beyond):                                "until",
		user + "/usage?from=9999-12-31T00:00:00Z&until=9999-12-31T23:00:00Z":                         "from",
		user + "/usage?at=" + at(before):                                                             "at",
		user + "/messages?until=" + at(beyond):                                                       "until",
		user + "/next-free?from=" + at(beyond):                                                       "from",
		user + "/usage?at=2026-11-22T00:00:00Z&from=9999-12-31T00:00:00Z&until=9999-12-31T01:00:00Z": "from",
	} {
		require.Equal(t, field, r.problem(http.StatusUnprocessableEntity, r.get(target)).Field, target)
	}
	for target, body := range map[string]string{
		messagesPath:             `{"user":"alice","send_at":"` + on22("11:11:11") + `","title":"Hi","expires_at":"` + beyond + `"}`,
		"/v1/accounts/acme/keys": `{"expires_at":"` + beyond + `"}`,
	} {
		require.Equal(t, "expires_at", r.problem(http.StatusUnprocessableEntity, r.post(target, body)).Field, target)
	}
	for _, target := range []string{
		user + "/usage?at=9997-12-31T23:59:59Z", user + "/usage?at=0001-01-02T00:00:00Z",
		user + "/messages?until=9999-12-31T23:59:59Z", user + "/next-free?from=9999-12-31T23:59:59Z",
	} {
		got := r.get(target)
		require.Equal(t, http.StatusOK, got.status, "%s: %s", target, got.body)
		require.NotRegexp(t, `"-?\d{5,}-|"-`, string(got.body), target)
	}
}
