package client_test

import (
	"context"
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

// The version comes from the header, also if a proxy has encoded the answer again. An answer
// without a version yields no condition that always holds.
func TestTheVersionOfSettings(t *testing.T) {
	t.Parallel()
	for etag, version := range map[string]string{`"x-1"`: "x-1", `W/"x-1"`: "x-1", "": ""} {
		var conditions []string
		c := serve(t, once(), func(w http.ResponseWriter, r *http.Request) {
			conditions = append(conditions, r.Header.Get("If-Match"))
			w.Header().Set("ETag", etag)
			reply(w, plainJSON, http.StatusOK, `{"user":"alice","limits":[],"effective":null}`)
		})
		s, err := c.UserSettings(t.Context(), "alice")
		require.NoError(t, err)
		require.Equal(t, version, s.Version)
		require.Nil(t, s.Effective)
		_, err = c.ClearUserSettings(t.Context(), "alice", client.IfVersion(s.Version))
		require.NoError(t, err)
		require.Equal(t, []string{"", `"` + version + `"`}, conditions)
	}
}

func TestConditionsAreHeaders(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		only     []client.Condition
		match    []string
		noneElse []string
	}{
		{nil, nil, nil},
		{[]client.Condition{{}}, nil, nil},
		{[]client.Condition{client.IfNone()}, nil, []string{"*"}},
		{[]client.Condition{client.IfExists()}, []string{"*"}, nil},
		{[]client.Condition{client.IfVersion[int64](7), client.IfVersion("x-1")}, []string{`"7"`, `"x-1"`}, nil},
		{[]client.Condition{client.IfVersion("\"\r\n")}, []string{`"\"\r\n"`}, nil},
	} {
		e := &exchange{mediaType: plainJSON, status: http.StatusOK, body: "{}"}
		e.said(t, func(ctx context.Context, c *client.Client) []any {
			return told(c.DeletePolicy(ctx, "vip", row.only...))
		})
		require.Equal(t, row.match, e.requests[0].Header["If-Match"])
		require.Equal(t, row.noneElse, e.requests[0].Header["If-None-Match"])
	}
}
