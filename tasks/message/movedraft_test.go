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
	at, err := d.Time(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC), at)

	at, err = message.MoveDraft{SendAt: "now"}.Time(message.ParseTime)
	require.NoError(t, err)
	require.Zero(t, at)
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
		{`null`, "message"},
		{`[]`, "message"},
		{"{\"send_at\":\"\xff\"}", "send_at"},
	} {
		d, err := message.DecodeMove([]byte(wrong.text))
		if err == nil {
			_, err = d.Time(message.ParseTime)
		}
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, wrong.text)
		require.Equal(t, wrong.field, invalid.Field, wrong.text)
	}
}
