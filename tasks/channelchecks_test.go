package tasks_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/devices"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/tasks/submit"
)

// checking submits with a check that refuses bodies of more than 3,000 bytes, and notes the
// channels that it was called for.
func (s *story) checking() (checked *[]string) {
	s.Helper()
	checked = new([]string)
	s.Submitter = s.newSubmitter(submit.Options{CheckChannel: func(channel string, m message.Message) error {
		*checked = append(*checked, channel)
		if len(m.Body) > 3000 {
			return &fault.InvalidError{Field: "message", Value: strconv.Itoa(len(m.Body)) + " bytes", Want: "at most 3000 bytes in " + channel}
		}
		return nil
	}})
	return checked
}

// owns stores the devices of alice.
func (s *story) owns(list ...devices.Device) {
	s.Helper()
	for i := range list {
		list[i].RegisteredAt = time.Now()
	}
	packed, err := devices.Encode(list)
	require.NoError(s, err)
	keys := s.keys()
	require.NoError(s, s.client.Set(s.Context(), keys.Devices("alice"), packed, 0).Err())
}

func ownPhone(id, app string) devices.Device {
	return devices.Device{ID: id, Channel: "fcm", App: app, Address: "token-of-" + id + strings.Repeat("x", 40)}
}

func TestASmallMessageIsCheckedForTheChannelsThatItNames(t *testing.T) {
	tell(t, func(s *story) {
		checked := s.checking()
		s.owns(ownPhone("a", ""))
		for _, row := range []struct {
			said message.PushContent
			want []string
		}{
			{message.PushContent{}, nil},
			{message.PushContent{Image: "https://a/b"}, nil},
			{message.PushContent{To: &message.Target{Channel: "webhook"}}, nil},
			{message.PushContent{To: &message.Target{Device: "a"}}, nil},
			{message.PushContent{To: &message.Target{Channel: "webpush"}}, []string{"webpush"}},
			{message.PushContent{
				To: &message.Target{Channel: "webpush"}, Channels: map[string]json.RawMessage{"fcm": []byte(`{}`)},
			}, []string{"fcm", "webpush"}},
		} {
			*checked = nil
			m := s.message("m", time.Hour)
			m.PushContent = row.said
			o, err := s.Check(s.Context(), m)
			require.NoError(s, err)
			require.Equal(s, message.Accepted, o.Outcome, o.Detail)
			require.Equal(s, row.want, *checked)
		}
	})
}

func TestALargeMessageIsCheckedForTheChannelsOfDevices(t *testing.T) {
	tell(t, func(s *story) {
		checked := s.checking()
		large := func(id string, to *message.Target) message.Message {
			m := s.message(id, time.Hour)
			if id != "first" {
				m.SendAt = m.SendAt.Add(time.Hour) // which is free
			}
			m.Body, m.To = strings.Repeat("b", 3001), to
			return m
		}
		first := large("first", nil)
		s.accepted(first)
		require.Empty(s, *checked, "nobody has a device")

		s.owns(ownPhone("a", "shop"), ownPhone("b", "game"))
		o, err := s.Submit(s.Context(), large("second", nil))
		require.NoError(s, err)
		require.Equal(s, message.Outcome{
			Outcome: message.Invalid, Code: fault.CodeInvalidField, ID: "second", User: "alice", Field: "message",
			Detail: `message "3001 bytes" is not allowed: use at most 3000 bytes in fcm`,
		}, o)
		require.Equal(s, []string{"fcm"}, *checked)

		o, err = s.Submit(s.Context(), first)
		require.NoError(s, err)
		require.True(s, o.Replayed, "what was accepted stays so, whatever devices there are now")

		for _, to := range []*message.Target{{Channel: "webhook"}, {App: "news"}, {Device: "c"}} {
			*checked = nil
			o, err = s.Check(s.Context(), large("third", to))
			require.NoError(s, err)
			require.Equal(s, message.Accepted, o.Outcome, o.Detail)
			require.Empty(s, *checked, "it goes to no device")
		}
		for _, to := range []*message.Target{{Channel: "fcm"}, {App: "game"}, {Device: "a"}} {
			*checked = nil
			o, err = s.Check(s.Context(), large("third", to))
			require.NoError(s, err)
			require.Equal(s, message.Invalid, o.Outcome)
			require.Equal(s, []string{"fcm"}, *checked)
		}

		run, err := s.StartDryRun(s.Context())
		require.NoError(s, err)
		o, err = run.Submit(s.Context(), large("third", nil))
		require.NoError(s, err)
		require.Equal(s, message.Invalid, o.Outcome)
		require.NoError(s, run.Close(s.Context()))

		s.accepted(s.message("small", 3*time.Hour))
		body := strings.Repeat("b", 3001)
		o, err = s.Change(s.Context(), "alice", "small", message.Patch{Edit: message.Edit{Body: &body}})
		require.NoError(s, err)
		require.Equal(s, message.Invalid, o.Outcome)
		require.Equal(s, "message", o.Field)
	})
}

func TestAMessageOfAnotherAccountsDeviceIsNotChecked(t *testing.T) {
	tell(t, func(s *story) {
		checked := s.checking()
		d := ownPhone("a", "")
		d.Account = "acme"
		s.owns(d)
		m := s.message("m", time.Hour)
		m.Body = strings.Repeat("b", 3001)
		s.accepted(m)
		require.Empty(s, *checked)
	})
}

func TestPushContentIsKeptChangedAndExported(t *testing.T) {
	tell(t, func(s *story) {
		m := s.message("m", time.Hour)
		m.PushContent = message.PushContent{
			Image: "https://a/b", Badge: new(0), Channels: map[string]json.RawMessage{"fcm": []byte(`{"a":1}`)}, To: &message.Target{App: "shop"},
		}
		s.accepted(m)
		require.Equal(s, m.PushContent, s.status("m").PushContent)
		o, err := s.Submit(s.Context(), m)
		require.NoError(s, err)
		require.True(s, o.Replayed)
		other := m
		other.Badge = new(1)
		o, err = s.Submit(s.Context(), other)
		require.NoError(s, err)
		require.Equal(s, fault.CodeIDReused, o.Code)

		sound := "ding"
		o, err = s.Change(s.Context(), "alice", "m", message.Patch{Edit: message.Edit{PushEdit: message.PushEdit{
			PushDraft: message.PushDraft{Sound: &sound, Channels: map[string]json.RawMessage{"fcm": []byte(`{"b":2}`)}}, ClearTo: true,
		}}})
		require.NoError(s, err)
		require.Equal(s, message.Changed, o.Outcome)
		require.Equal(s, message.PushContent{
			Image: "https://a/b", Badge: new(0), Sound: "ding", Channels: map[string]json.RawMessage{"fcm": []byte(`{"a":1,"b":2}`)},
		}, s.status("m").PushContent)
	})
}

func TestAStatusTellsOfDevices(t *testing.T) {
	tell(t, func(s *story) {
		s.accepted(s.message("m", time.Hour))
		require.Empty(s, s.status("m").Devices)
		keys := s.keys()
		done := messages.Progress{{Device: "phone", State: messages.DeviceDelivered}, {Device: "@webhook", State: messages.DeviceFailed}}
		require.NoError(s, s.client.HSet(s.Context(), keys.Record("alice", "m"), keyspace.RecordProgress, done.Encode()).Err())
		require.Equal(s, []message.DeviceStatus{{Device: "phone", State: "delivered"}, {Device: "@webhook", State: "failed"}}, s.status("m").Devices)
		for i, state := range []messages.DeviceState{
			messages.DeviceDelivered, messages.DeviceGone, messages.DeviceFailed, messages.DeviceUncertain,
		} {
			require.Equal(s, message.DeviceStates()[i], state.String(), "the words are the same")
		}
	})
}

func TestDevicesThatCanNotBeReadAreNoAcceptedMessage(t *testing.T) {
	tell(t, func(s *story) {
		s.checking()
		keys := s.keys()
		require.NoError(s, s.client.Set(s.Context(), keys.Devices("alice"), "from a newer program", 0).Err())
		m := s.message("m", time.Hour)
		m.Body = strings.Repeat("b", 2500)
		_, err := s.Submit(s.Context(), m)
		_, away := errors.AsType[*fault.UnavailableError](err)
		require.True(s, away, "%v", err)
	})
}
