package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/counters"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/rate"
	"github.com/sendlimit/sendlimiter/tasks/channels"
)

const (
	eventLimitsPath = "/v1/event-limits/{event}"
	readLimits      = "/v1/event-limits/read"
	pacePath        = "/v1/pace"
	channelsPath    = "/v1/channels"
	resumePath      = channelsPath + "/{channel}/resume"
	sendingPath     = "/v1/sending"
)

// limitedReads has the event read limited.
func limitedReads(r *rig) {
	require.NoError(r, r.options.Events.Set(r.Context(), counters.EventLimits{
		Name: "read", PerMinute: 1000, PerDay: 500_000, TimeZone: "Europe/Berlin", AlertAt: []int{80, 100}, AlertTo: "ops@acme.example",
	}))
}

// paced has a pace and a pause.
func paced(r *rig) {
	require.NoError(r, r.options.Paces.Apply(r.Context(), rate.Pace{Rate: rate.Rate{Count: 100, Interval: time.Second}, Burst: 20}))
	r.store.SetTime(time.Now()) // a pause is of the store's clock, and is told by this one
	_, err := r.options.Paces.Pause(r.Context(), time.Hour)
	require.NoError(r, err)
}

// stopped has three channels: the provider of one refuses the credentials, that of another delivers
// but reports many devices gone, and that of the third has asked for a pause.
func stopped(r *rig) {
	store := channels.NewStore(r.client, keyspace.KeysUnder(""))
	_, err := store.Stop(r.Context(), "fcm", channels.Stop{Reason: channels.Unauthorized, Detail: "HTTP 401"})
	require.NoError(r, err)
	for _, delivers := range []string{"apns", "webhook"} {
		require.NoError(r, store.Accept(r.Context(), delivers, "", time.Now()))
	}
	require.NoError(r, store.NoteWave(r.Context(), "apns", channels.Wave{At: time.Now(), Gone: 40, Of: 90, Accounts: map[string]int{"shop": 40}, Campaigns: map[string]int{"": 40}}))
	r.store.SetTime(time.Now()) // a pause is of the store's clock, and is told by this one
	pace, err := r.options.Paces.Of("push-webhook")
	require.NoError(r, err)
	_, err = pace.Pause(r.Context(), time.Hour)
	require.NoError(r, err)
}

// halted has all sending stopped.
func halted(r *rig) {
	_, stopped, err := r.options.Channels.StopSending(r.Context(), channels.SendingStop{Reason: "wrong text", By: "account ops"})
	require.NoError(r, err)
	require.True(r, stopped)
}

func operatingCases() []contractCase {
	get := func(target string) request { return request{method: http.MethodGet, target: target} }
	with := func(method, target, body string) request { return request{method: method, target: target, body: body} }
	return []contractCase{
		{"all", http.MethodGet, "/v1/event-limits", http.StatusOK, on(limitedReads, get("/v1/event-limits"))},
		{"none", http.MethodGet, "/v1/event-limits", http.StatusOK, on(nothing, get("/v1/event-limits"))},
		{"shown", http.MethodGet, eventLimitsPath, http.StatusOK, on(limitedReads, get(readLimits))},
		{"none", http.MethodGet, eventLimitsPath, http.StatusNotFound, on(nothing, get(readLimits))},
		{"set", http.MethodPut, eventLimitsPath, http.StatusOK, on(nothing, with(http.MethodPut, readLimits, `{"per_hour":5}`))},
		{"replaced", http.MethodPut, eventLimitsPath, http.StatusOK, on(limitedReads, with(http.MethodPut, readLimits,
			`{"per_minute":1,"per_hour":2,"per_day":3,"time_zone":"UTC","alert_at":[50],"alert_to":"https://acme.example/alerts"}`))},
		{"no limit", http.MethodPut, eventLimitsPath, http.StatusUnprocessableEntity, on(nothing, with(http.MethodPut, readLimits, `{}`))},
		{
			"not counted here", http.MethodPut, eventLimitsPath, http.StatusUnprocessableEntity,
			on(nothing, with(http.MethodPut, "/v1/event-limits/login", `{"per_hour":5}`)),
		},
		{"custom", http.MethodPut, eventLimitsPath, http.StatusOK, on(nothing, with(http.MethodPut, "/v1/event-limits/login", `{"per_hour":5,"custom":true}`))},
		{"removed", http.MethodDelete, eventLimitsPath, http.StatusOK, on(limitedReads, with(http.MethodDelete, readLimits, ""))},
		{"none", http.MethodDelete, eventLimitsPath, http.StatusNotFound, on(nothing, with(http.MethodDelete, readLimits, ""))},

		{"none", http.MethodGet, pacePath, http.StatusOK, on(nothing, get(pacePath))},
		{"paced and paused", http.MethodGet, pacePath, http.StatusOK, on(paced, get(pacePath))},
		{"a channel", http.MethodGet, pacePath, http.StatusOK, on(nothing, get(pacePath+"?channel=fcm"))},
		{"no channel", http.MethodGet, pacePath, http.StatusUnprocessableEntity, on(nothing, get(pacePath+"?channel=pigeon"))},
		{"set", http.MethodPut, pacePath, http.StatusOK, on(nothing, with(http.MethodPut, pacePath, `{"rate":"6000/minute"}`))},
		{"too large a burst", http.MethodPut, pacePath, http.StatusUnprocessableEntity, on(nothing, with(http.MethodPut, pacePath, `{"rate":"5/second","burst":6}`))},
		{"cleared", http.MethodDelete, pacePath, http.StatusOK, on(paced, with(http.MethodDelete, pacePath, ""))},

		{"none", http.MethodGet, channelsPath, http.StatusOK, on(nothing, get(channelsPath))},
		{"stopped", http.MethodGet, channelsPath, http.StatusOK, on(stopped, get(channelsPath))},
		{"stopped", http.MethodPost, resumePath, http.StatusOK, on(stopped, with(http.MethodPost, channelsPath+"/fcm/resume", ""))},
		{"running", http.MethodPost, resumePath, http.StatusOK, on(nothing, with(http.MethodPost, channelsPath+"/fcm/resume", ""))},
		{"runs", http.MethodGet, sendingPath, http.StatusOK, on(nothing, get(sendingPath))},
		{"stopped", http.MethodGet, sendingPath, http.StatusOK, on(halted, get(sendingPath))},
		{"stopped", http.MethodPost, sendingPath + "/stop", http.StatusOK, on(nothing, with(http.MethodPost, sendingPath+"/stop", `{"reason":"wrong text"}`))},
		{"no reason", http.MethodPost, sendingPath + "/stop", http.StatusUnprocessableEntity, on(nothing, with(http.MethodPost, sendingPath+"/stop", `{}`))},
		{"started", http.MethodPost, sendingPath + "/start", http.StatusOK, on(halted, with(http.MethodPost, sendingPath+"/start", ""))},
		{"runs", http.MethodPost, sendingPath + "/start", http.StatusOK, on(nothing, with(http.MethodPost, sendingPath+"/start", ""))},
		{"no name", http.MethodPost, resumePath, http.StatusUnprocessableEntity, on(nothing, with(http.MethodPost, channelsPath+"/No%20Name/resume", ""))},
	}
}

// The limits that are set are those that requests are counted by, and those that are
// refused are not.
func TestLimitsOfEventsTakeEffect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	put := func(event, body string) reply {
		return r.send(request{method: http.MethodPut, target: "/v1/event-limits/" + event, body: body})
	}
	for event, wrong := range map[string]struct{ body, field, says string }{
		"read":   {`{"time_zone":"UTC"}`, "event", "give at least one"},
		"change": {`{"per_day":5,"alert_at":[80]}`, "alert_to", "alert_to is required with alert_at"},
		"submit": {`{"per_day":5,"alert_at":[80],"alert_to":"https://127.0.0.1/alerts"}`, "alert_to", "127.0.0.1"},
		"login":  {`{"per_day":5}`, "event", `the events are submit, read, change; set custom for an event that your own program counts`},
		"A":      {`{"per_day":5,"custom":true}`, "event", "1 to 64 of a-z 0-9 _ -"},
	} {
		p := r.problem(http.StatusUnprocessableEntity, put(event, wrong.body))
		require.Equal(t, wrong.field, p.Field, event)
		require.Contains(t, p.Detail, wrong.says)
	}
	require.Empty(t, into[message.EventLimitsList](t, http.StatusOK, r.get("/v1/event-limits")).Events)

	key := r.key("acme", "read")
	read := request{method: http.MethodGet, target: "/v1/usage"}
	set := into[message.EventLimits](t, http.StatusOK, put("read", `{"per_day":2}`))
	require.Equal(t, message.EventLimits{Event: "read", PerDay: 2, TimeZone: "UTC"}, set)
	for n := range 3 {
		require.Equal(t, n == 2, r.with(key, read).status == http.StatusTooManyRequests)
	}
	removed := into[message.EventLimitsRemoval](t, http.StatusOK, r.send(request{method: http.MethodDelete, target: readLimits}))
	require.Equal(t, message.EventLimitsRemoval{Outcome: message.EventLimitsRemoved, Event: "read"}, removed)
	require.Equal(t, http.StatusOK, r.with(key, read).status)
	p := r.problem(http.StatusNotFound, r.get(readLimits))
	require.Equal(t, fault.CodeNotFound, p.Code)
	require.Equal(t, `no limits of event "read"`, p.Detail)
}

func TestPaceOverTheAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	paced(r)
	now := into[message.Pace](t, http.StatusOK, r.get(pacePath))
	require.True(t, now.PausedUntil.After(time.Now()))
	now.PausedUntil = nil
	require.Equal(t, message.Pace{Target: "push", Rate: "100/second", Burst: 20}, now)

	put := func(body string) reply { return r.send(request{method: http.MethodPut, target: pacePath, body: body}) }
	for body, says := range map[string]string{
		`{}`:                            `rate "" is not allowed: use a rate such as 100/second`,
		`{"rate":"5/second","burst":6}`: `burst "6" is not allowed: use 1 to 5`,
		`{"rate":"5/second","brust":5}`: `unknown field "brust"`,
	} {
		require.Contains(t, r.problem(http.StatusUnprocessableEntity, put(body)).Detail, says)
	}
	require.Equal(t, "100/second", into[message.Pace](t, http.StatusOK, r.get(pacePath)).Rate, "a refused one changes nothing")
	set := into[message.Pace](t, http.StatusOK, put(`{"rate":"5/second"}`))
	require.NotNil(t, set.PausedUntil, "another pace ends no pause")
	set.PausedUntil = nil
	require.Equal(t, message.Pace{Target: "push", Rate: "5/second"}, set)
	_, err := r.options.Paces.Refused(t.Context(), rate.Refusal{Calls: 9})
	require.NoError(t, err)
	learned := into[message.Pace](t, http.StatusOK, r.get(pacePath)).Learned
	require.Equal(t, &message.LearnedPace{PerSecond: 4.5, RefusedPerSecond: 9}, learned)
	cleared := into[message.Pace](t, http.StatusOK, r.send(request{method: http.MethodDelete, target: pacePath}))
	require.Equal(t, message.Pace{Target: "push"}, cleared)
	state, err := r.options.Paces.Load(t.Context())
	require.NoError(t, err)
	require.Zero(t, state)

	channel := request{method: http.MethodPut, target: pacePath + "?channel=fcm", body: `{"rate":"7/second"}`}
	require.Equal(t, message.Pace{Target: "push-fcm", Rate: "7/second"}, into[message.Pace](t, http.StatusOK, r.send(channel)))
	require.Empty(t, into[message.Pace](t, http.StatusOK, r.get(pacePath)).Rate, "the channels have their own")
	channel = request{method: http.MethodDelete, target: channel.target}
	require.Equal(t, message.Pace{Target: "push-fcm"}, into[message.Pace](t, http.StatusOK, r.send(channel)))
}

func TestChannelsOverTheAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	stopped(r)
	list := into[message.Channels](t, http.StatusOK, r.get(channelsPath)).Channels
	require.Len(t, list, 3)
	apns, fcm, webhook := list[0], list[1], list[2]
	require.Equal(t, "apns running", apns.Channel+" "+apns.State)
	require.False(t, apns.DeliveredAt.IsZero())
	require.Equal(t, []int{40, 90, 40}, []int{apns.Wave.Gone, apns.Wave.Of, apns.Wave.Accounts["shop"]})
	require.Equal(t, "fcm stopped unauthorized HTTP 401", fcm.Channel+" "+fcm.State+" "+fcm.Reason+" "+fcm.Detail)
	require.Equal(t, "webhook paused", webhook.Channel+" "+webhook.State)
	require.False(t, webhook.PausedUntil.IsZero())

	for _, outcome := range []string{message.ChannelResumed, message.ChannelRunning} {
		got := into[message.ChannelResume](t, http.StatusOK, r.post(channelsPath+"/fcm/resume", ""))
		require.Equal(t, message.ChannelResume{Outcome: outcome, Channel: "fcm"}, got)
	}
	require.Len(t, into[message.Channels](t, http.StatusOK, r.get(channelsPath)).Channels, 2)
	require.Equal(t, "channel", r.problem(http.StatusUnprocessableEntity, r.post(channelsPath+"/No%20Name/resume", "")).Field)
}

// Who stopped all sending and why is told until it is started, and a repetition says that it
// changed nothing.
func TestSendingOverTheAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	key := r.key("ops", "admin")
	stop := func(reason string) message.SendingChange {
		return into[message.SendingChange](t, http.StatusOK, r.with(key, request{method: http.MethodPost, target: sendingPath + "/stop", body: `{"reason":"` + reason + `"}`}))
	}
	first := stop("wrong text")
	require.Equal(t, message.SendingNowStopped, first.Outcome)
	require.Equal(t, []string{message.SendingStopped, "wrong text", "account ops"}, []string{first.State, first.Reason, first.By})
	require.False(t, first.Since.IsZero())
	again := stop("another")
	require.Equal(t, message.SendingAlreadyStopped, again.Outcome)
	require.Equal(t, first.Sending, again.Sending)
	require.Equal(t, first.Sending, into[message.Sending](t, http.StatusOK, r.get(sendingPath)))
	require.Equal(t, first.Sending, into[message.Overview](t, http.StatusOK, r.get("/v1/overview")).Sending)
	require.Empty(t, into[message.Channels](t, http.StatusOK, r.get(channelsPath)).Channels)
	require.Equal(t, "reason", r.problem(http.StatusUnprocessableEntity, r.post(sendingPath+"/stop", `{"reason":" "}`)).Field)
	for _, outcome := range []string{message.SendingNowStarted, message.SendingAlreadyRunning} {
		got := into[message.SendingChange](t, http.StatusOK, r.post(sendingPath+"/start", ""))
		require.Equal(t, message.SendingChange{Outcome: outcome, Sending: message.Sending{State: message.SendingRunning}}, got)
	}
}
