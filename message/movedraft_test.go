package message_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

func TestDecodeMove(t *testing.T) {
	t.Parallel()
	d, err := message.DecodeMove([]byte(`{"send_at":"2026-11-22T12:11:11.0009+01:00"}`))
	require.NoError(t, err)
	patch, err := d.Patch(message.ParseTime)
	require.NoError(t, err)
	at := time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	require.Equal(t, message.Patch{Move: &message.Move{At: at}}, patch)

	patch, err = message.MoveDraft{SendAt: "now"}.Patch(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Patch{Move: &message.Move{Now: true}}, patch)

	d, err = message.DecodeMove([]byte(`{"send_at":"2026-11-22T11:11:11Z","on_conflict":"shift","shift_until":"2026-11-22T11:11:12Z"}`))
	require.NoError(t, err)
	patch, err = d.Patch(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Patch{
		Move: &message.Move{At: at, OnConflict: message.OnConflictShift, ShiftUntil: at.Add(time.Second)},
	}, patch)
}

// What is absent stays as it is, and null removes it.
func TestDecodeAnEdit(t *testing.T) {
	t.Parallel()
	empty, hi, at := "", "Hi", time.Date(2026, 11, 22, 11, 11, 11, 0, time.UTC)
	for text, want := range map[string]message.Edit{
		`{"title":"Hi"}`:                             {Title: &hi},
		`{"title":null,"body":"Hi"}`:                 {Title: &empty, Body: &hi},
		`{"title":"","body":null}`:                   {Title: &empty, Body: &empty},
		`{"data":{"a":"Hi","b":null}}`:               {Data: map[string]*string{"a": &hi, "b": nil}},
		`{"data":null,"metadata":null}`:              {ClearData: true, ClearMetadata: true},
		`{"metadata":{"a":null}}`:                    {Metadata: map[string]*string{"a": nil}},
		`{"expires_at":"2026-11-22T12:11:11+01:00"}`: {ExpiresAt: &at},
		`{"expires_at":null}`:                        {ExpiresAt: &time.Time{}},
	} {
		d, err := message.DecodeMove([]byte(text))
		require.NoError(t, err, text)
		patch, err := d.Patch(message.ParseTime)
		require.NoError(t, err, text)
		require.Equal(t, message.Patch{Edit: want}, patch, text)
		require.False(t, want.None(), text)
	}
	d, err := message.DecodeMove([]byte(`{"data":{}}`))
	require.NoError(t, err)
	patch, err := d.Patch(message.ParseTime)
	require.NoError(t, err)
	require.True(t, patch.Edit.None())
	require.Nil(t, patch.Move)
	d, err = message.DecodeMove([]byte(`{"send_at":"now","title":"Hi"}`))
	require.NoError(t, err)
	patch, err = d.Patch(message.ParseTime)
	require.NoError(t, err)
	require.Equal(t, message.Patch{Move: &message.Move{Now: true}, Edit: message.Edit{Title: &hi}}, patch)
}

func TestAnEditOfAMessage(t *testing.T) {
	t.Parallel()
	empty, more := "", "more"
	was, metadata := message.Content{Title: "a", Body: "b", Data: map[string]string{"k": "v", "l": "w"}}, map[string]string{"m": "n"}
	for name, row := range map[string]struct {
		edit     message.Edit
		want     message.Content
		metadata map[string]string
	}{
		"nothing": {message.Edit{}, was, metadata},
		"texts":   {message.Edit{Title: &empty, Body: &more}, message.Content{Body: "more", Data: was.Data}, metadata},
		"entries": {
			message.Edit{Data: map[string]*string{"k": nil, "l": &more, "none": nil}, Metadata: map[string]*string{"x": &empty}},
			message.Content{Title: "a", Body: "b", Data: map[string]string{"l": "more"}},
			map[string]string{"m": "n", "x": ""},
		},
		"all entries": {
			message.Edit{ClearData: true, Data: map[string]*string{"k": &more}, Metadata: map[string]*string{"m": nil}},
			message.Content{Title: "a", Body: "b", Data: map[string]string{"k": "more"}},
			nil,
		},
	} {
		content, kept, err := row.edit.Of(was, metadata)
		require.NoError(t, err, name)
		require.Equal(t, row.want, content, name)
		require.Equal(t, row.metadata, kept, name)
	}
	require.Equal(t, map[string]string{"k": "v", "l": "w"}, was.Data, "it is not changed itself")

	long := strings.Repeat("x", message.MaxContent)
	for field, edit := range map[string]message.Edit{
		"title":    {Title: &empty, Body: &empty},
		"body":     {Data: map[string]*string{"long": &long}},
		"metadata": {Metadata: map[string]*string{"": &more}},
	} {
		_, _, err := edit.Of(was, metadata)
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, field, invalid.Field)
	}
}

func TestAMoveNamesAllThatIsWrong(t *testing.T) {
	t.Parallel()
	d, err := message.DecodeMove([]byte(`{"text":"Hi","title":7,"shift_until":7,"send_at":"tomorrow","on_conflict":"drop"}`))
	require.NoError(t, err)
	_, err = d.Patch(message.ParseTime)
	require.EqualError(t, err, "shift_until is a JSON number: it has to be a text; "+
		`unknown field "text": there are send_at, on_conflict, shift_until, title, body, data, image, click_url, badge, sound, priority, collapse_key, channels, to, metadata, expires_at; `+
		`title is a JSON number: it has to be a text; `+
		`send_at "tomorrow" is not allowed: use an RFC 3339 time such as 2040-06-22T11:11:11Z; `+
		`on_conflict "drop" is not allowed: use refuse or shift`)
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
		{`{"title":7}`, "title"},
		{`{"data":7}`, "data"},
		{`{"data":{"k":7}}`, "data.k"},
		{`{"expires_at":"now"}`, "expires_at"},
		{`{"title":"Hi","send_at":null}`, "send_at"},
		{`{"title":"Hi","on_conflict":"shift"}`, "send_at"},
		{`{"send_at":"2093-11-22T11:11:12Z","expires_at":"2093-11-22T11:11:12Z"}`, "expires_at"},
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
			_, err = d.Patch(message.ParseTime)
		}
		var invalid *fault.InvalidError
		require.ErrorAs(t, err, &invalid, wrong.text)
		require.Equal(t, wrong.field, invalid.Field, wrong.text)
	}
}
