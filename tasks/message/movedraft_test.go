package message_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/message"
)

func TestDecodeMove(t *testing.T) {
	t.Parallel()
	d, err := message.DecodeMove([]byte(`{"send_at":"2026-11-22T12:11:11.0009+01:00"}`))
	require.NoError(t, err)
	move, err := d.Move(message.ParseTime)
	require.NoError(t, err)
	at := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	require.Equal(t, message.Move{At: at}, move)

	move, err = message.MoveDraft{SendAt: "now"}.Move(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Move{Now: true}, move)

	d, err = message.DecodeMove([]byte(`{"send_at":"2026-11-22T11:11:11Z","on_conflict":"shift","shift_until":"2026-11-22T11:11:12Z"}`))
	require.NoError(t, err)
	move, err = d.Move(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Move{At: at, OnConflict: message.OnConflictShift, ShiftUntil: at.Add(time.Second)}, move)
}

func TestAMoveNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	d, err := message.DecodeMove([]byte(`{"title":"Hi","shift_until":7,"send_at":"tomorrow","on_conflict":"drop"}`))
	require.NoError(t, err)
	_, err = d.Move(message.ParseTime)
	require.EqualError(t, err, "shift_until is a JSON number: it has to be a text; "+
		`unknown field "title": there are send_at, on_conflict, shift_until; `+
		`send_at "tomorrow" is not allowed: it takes an RFC 3339 time such as 2040-06-22T11:11:11Z; `+
		`on_conflict "drop" is not allowed: it takes refuse or shift`)
}

func TestMovesThatAreNotAllowed(t *testing.T) {
	t.Parallel()
	for _, wrong := range []struct{ text, field string }{
		{`{}`, "send_at"},
		{`{"send_at":null}`, "send_at"},
		{`{"send_at":""}`, "send_at"},
		{`{"send_at":7}`, "send_at"},
		{`{"send_at":"tomorrow"}`, "send_at"},
		{`{"Send_At":"now"}`, "Send_At"},
		{`{"send_at":"now","title":"Hi"}`, "title"},
		{`{"send_at":"now","on_conflict":"drop"}`, "on_conflict"},
		{`{"send_at":"now","on_conflict":7}`, "on_conflict"},
		{`{"send_at":"now","on_conflict":"shift","shift_until":"tomorrow"}`, "shift_until"},
		{`{"send_at":"now","shift_until":"2093-11-22T11:11:12Z"}`, "shift_until"},
		{`{"send_at":"now","on_conflict":"refuse","shift_until":"2093-11-22T11:11:12Z"}`, "shift_until"},
		{`{"send_at":"2093-11-22T11:11:12Z","on_conflict":"shift","shift_until":"2093-11-22T11:11:11Z"}`, "shift_until"},
		{`null`, "message"},
		{`[]`, "message"},
		{"{\"send_at\":\"\xff\"}", "send_at"},
	} {
		d, err := message.DecodeMove([]byte(wrong.text))
		if err == nil {
			_, err = d.Move(message.ParseTime)
		}
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, wrong.text)
		require.Equal(t, wrong.field, invalid.Field, wrong.text)
	}
}
