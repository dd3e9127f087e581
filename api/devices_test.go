package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/accounts"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

const (
	devicesPath  = userPath + "/devices"
	aliceDevices = "/v1/users/alice/devices"
	phone        = aliceDevices + "/phone"
	canaryToken  = "canary-canary-canary-canary-canary-123456"
	canaryPhone  = `{"id":"phone","channel":"fcm","token":"` + canaryToken + `"}`
)

// withPhone registers a device of alice, of no account.
func withPhone(r *rig) {
	_, err := r.options.Devices.Add(r.Context(), "alice", devices.Device{ID: "phone", Channel: devices.FCM, Address: canaryToken}, 0)
	require.NoError(r, err)
}

// withAllDevices registers as many devices of alice as are allowed.
func withAllDevices(r *rig) {
	for i := range devices.Most {
		_, err := r.options.Devices.Add(r.Context(), "alice", devices.Device{Channel: devices.FCM, Address: strings.Repeat("x", i+1)}, 0)
		require.NoError(r, err)
	}
}

func deviceCases() []contractCase {
	get := request{method: http.MethodGet, target: aliceDevices}
	post := func(body string) request { return request{method: http.MethodPost, target: aliceDevices, body: body} }
	del := request{method: http.MethodDelete, target: phone}
	const path, one = devicesPath, devicesPath + "/{device}"
	web := `{"channel":"webpush","subscription":{"endpoint":"https://push.example.net/x","expirationTime":null,"keys":{"auth":"BTBZMqHH6r4Tts7J_aSIgg",` +
		`"p256dh":"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}},"app":"shop","locale":"pt-BR"}`
	return []contractCase{
		{"listed", http.MethodGet, path, http.StatusOK, on(withPhone, get)},
		{"none", http.MethodGet, path, http.StatusOK, on(nothing, get)},
		{"added", http.MethodPost, path, http.StatusOK, on(nothing, post(canaryPhone))},
		{"there already", http.MethodPost, path, http.StatusOK, on(withPhone, post(canaryPhone))},
		{"a browser", http.MethodPost, path, http.StatusOK, on(nothing, post(web))},
		{"no token", http.MethodPost, path, http.StatusUnprocessableEntity, on(nothing, post(`{"channel":"fcm"}`))},
		{"no channel", http.MethodPost, path, http.StatusUnprocessableEntity, on(nothing, post(`{"token":"x"}`))},
		{"too many", http.MethodPost, path, http.StatusConflict, on(withAllDevices, post(canaryPhone))},
		{"removed", http.MethodDelete, one, http.StatusOK, on(withPhone, del)},
		{"none", http.MethodDelete, one, http.StatusNotFound, on(nothing, del)},
		{"no id", http.MethodDelete, one, http.StatusUnprocessableEntity, on(nothing, request{method: http.MethodDelete, target: aliceDevices + "/@a"})},
	}
}

// listedDevices returns the addresses of alice's devices by their ids, as a caller sees them.
func listedDevices(t *testing.T, r *rig, key string) map[string]string {
	t.Helper()
	list := into[message.Devices](t, http.StatusOK, r.with(key, request{method: http.MethodGet, target: aliceDevices}))
	require.Equal(t, "alice", list.User)
	addresses := make(map[string]string)
	for _, d := range list.Devices {
		addresses[d.ID] = d.Address
	}
	return addresses
}

// An account reaches its own devices and no other, and nobody but an operator with the scope
// content sees an address.
func TestDevicesBelongToTheAccountThatRegisteredThem(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	both := []accounts.Scope{accounts.ScopeSubmit, accounts.ScopeRead}
	own, other := r.key("own", both...), r.key("other", both...)
	operator, insider := r.key("operator", accounts.ScopeAdmin), r.key("insider", accounts.ScopeAdmin, accounts.ScopeContent)
	post := request{method: http.MethodPost, target: aliceDevices, body: canaryPhone}
	del := request{method: http.MethodDelete, target: phone}

	added := into[message.DeviceChange](t, http.StatusOK, r.with(own, post))
	require.Equal(t, message.DeviceAdded, added.Outcome)
	require.Equal(t, "own", added.Device.Account)
	require.Equal(t, "…123456", added.Device.Address)
	require.False(t, added.Device.RegisteredAt.IsZero())
	require.Equal(t, message.DeviceUnchanged, into[message.DeviceChange](t, http.StatusOK, r.with(own, post)).Outcome)

	require.Equal(t, map[string]string{"phone": "…123456"}, listedDevices(t, r, own))
	require.Empty(t, listedDevices(t, r, other))
	require.Equal(t, map[string]string{"phone": "…123456"}, listedDevices(t, r, operator))
	require.NotContains(t, r.log.String(), "addresses of devices shown")
	require.Equal(t, map[string]string{"phone": canaryToken}, listedDevices(t, r, insider))
	require.Contains(t, r.log.String(), `msg="addresses of devices shown" account=insider`)

	require.Equal(t, http.StatusNotFound, r.with(other, del).status)
	require.Equal(t, fault.CodeExists, r.problem(http.StatusConflict, r.with(other, post)).Code)
	require.Equal(t, map[string]string{"phone": "…123456"}, listedDevices(t, r, own))
	removed := into[message.DeviceRemoval](t, http.StatusOK, r.with(own, del))
	require.Equal(t, message.DeviceRemoval{Outcome: message.DeviceRemoved, User: "alice", Device: "phone"}, removed)
	require.Equal(t, http.StatusNotFound, r.with(own, del).status)

	into[message.DeviceChange](t, http.StatusOK, r.with(own, post))
	into[message.DeviceRemoval](t, http.StatusOK, r.with(operator, del))
	require.Empty(t, listedDevices(t, r, own))
	require.NotContains(t, r.log.String(), "canary")
}

// A device beyond those of the tier is refused, and the account sees how many it has. A phone that
// another user logs in on is none more.
func TestDevicesOfATier(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	own := r.submitter("own", accounts.Tier{Devices: 1})
	post := func(user, token string) request {
		return request{method: http.MethodPost, target: "/v1/users/" + user + "/devices", body: `{"channel":"fcm","token":"` + token + `"}`}
	}
	into[message.DeviceChange](t, http.StatusOK, r.with(own, post("alice", "one")))
	refused := into[message.Outcome](t, http.StatusConflict, r.with(own, post("bob", "another")))
	require.Equal(t, fault.CodeTooManyDevices, refused.Code)
	require.Equal(t, message.DeviceUnchanged, into[message.DeviceChange](t, http.StatusOK, r.with(own, post("alice", "one"))).Outcome)
	require.Equal(t, 1, into[message.DeviceChange](t, http.StatusOK, r.with(own, post("bob", "one"))).MovedFrom)
	usage := into[message.AccountUsage](t, http.StatusOK, r.with(r.key("own", accounts.ScopeRead), request{method: http.MethodGet, target: "/v1/usage"}))
	require.Equal(t, message.DevicesUsage{Used: 1, Limit: 1, Remaining: new(int64(0))}, usage.Devices)
}

// The export of a user has the devices, and conceals addresses as contents.
func TestAnExportHasTheDevices(t *testing.T) {
	t.Parallel()
	r := newRig(t, locked)
	own := r.key("own", accounts.ScopeSubmit, accounts.ScopeAdmin)
	operator, insider := r.key("operator", accounts.ScopeAdmin), r.key("insider", accounts.ScopeAdmin, accounts.ScopeContent)
	into[message.DeviceChange](t, http.StatusOK, r.with(own, request{method: http.MethodPost, target: aliceDevices, body: canaryPhone}))
	for key, address := range map[string]any{own: canaryToken, operator: nil, insider: canaryToken} {
		entries := r.exported(key, "alice")
		require.Len(t, entries, 1)
		require.Equal(t, "devices", entries[0].List)
		require.Equal(t, "phone", entries[0].Entry["id"])
		require.Equal(t, address, entries[0].Entry["address"])
	}
	require.NotContains(t, r.log.String(), "canary")
	erase := request{method: http.MethodDelete, target: "/v1/users/alice?wait=0s"}
	require.Equal(t, http.StatusOK, r.with(operator, erase).status)
	require.Empty(t, listedDevices(t, r, insider))
}

// A request that is refused shows no address, in the answer or in the log.
func TestARefusedDeviceShowsNoAddress(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, body := range []string{
		`{"channel":"apns","token":"canary"}`, `{"channel":"webpush","token":"canary"}`, `{"channel":"fcm","token":"canary","id":"@"}`,
		`{"channel":"webpush","subscription":{"endpoint":"https://canary.example"}}`, `{"channel":"fcm","token":"canary canary"}`,
	} {
		got := r.send(request{method: http.MethodPost, target: aliceDevices, body: body})
		require.Equal(t, fault.CodeInvalidField, r.problem(http.StatusUnprocessableEntity, got).Code, body)
		require.NotContains(t, string(got.body), "canary")
	}
	require.NotContains(t, r.log.String(), "canary")
}
