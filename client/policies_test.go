package client_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

// vip is a policy with every member.
func vip() client.Policy {
	return client.Policy{
		Name: "vip", TimeZone: "Europe/Berlin", UserTimeZone: true, Rules: []string{"3/minute", "20/calendar_day"},
		QuietHours: []string{"22:00-08:00"}, Reach: "30d", OnConflict: client.OnConflictShift, AlertAt: []int{}, AlertTo: "ops@acme.example",
		Categories: map[string]client.PolicyCategory{
			"marketing": {Rules: []string{"2/calendar_day"}, Throttle: "1/minute"}, "codes": {Exempt: true, Counts: new(bool)},
		},
	}
}

// A policy is sent again like a message.
func TestAPolicyWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	var requests counted
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) {
		if requests.next() == 1 {
			cutAfter(t, w, "")
			return
		}
		if r.Header.Get("If-Match") != `"7"` || r.Header.Get("Content-Type") != plainJSON {
			t.Errorf("%v", r.Header)
		}
		reply(w, plainJSON, http.StatusOK, `{"new":{"name":"vip","rules":["1/day"],"version":8},"changed":true}`)
	})
	change, err := c.ApplyPolicy(t.Context(), "vip", vip(), client.IfVersion[int64](7))
	require.NoError(t, err)
	require.Equal(t, int64(8), change.New.Version)
	require.EqualValues(t, 2, requests.Load())
}
