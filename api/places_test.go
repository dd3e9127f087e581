package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/api"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/backend"
	"github.com/sendlimit/sendlimiter/tasks/message"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// A user may have only so many messages in a day, whatever the rules allow.
func TestAFullDayIsAConflict(t *testing.T) {
	t.Parallel()
	for most, messages := range map[int]string{1: "1 message", 2: "2 messages"} {
		r := newRig(t)
		submitter, err := submit.New(taskstest.Open(t, r.client, backend.Options{PlacesPerDay: most}), submit.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, submitter.Close()) })
		r.serves(func(o *api.Options) { o.Submitter = submitter })
		for i := range most {
			r.accepted(`{"user":"alice","send_at":"` + on22([]string{"11:11:11", "12:11:11"}[i]) + `","title":"Hi"}`)
		}
		for _, target := range []string{messagesPath, messagesPath + "/dry-run"} {
			p := r.problem(http.StatusConflict, r.post(target, `{"user":"alice","send_at":"`+on22("15:00:00")+`","title":"Hi"}`))
			require.Equal(t, fault.CodeTooManyPlaces, p.Code)
			require.Equal(t, "alice already has "+messages+" on 2026-11-22 (UTC), the most that the setting places_per_day allows;"+
				" the next free time is 2026-11-23 00:00:00", p.Detail)
			require.Equal(t, "2026-11-23T00:00:00.000Z", p.NextFreeAt.Format(message.TimeLayout))
		}
	}
}
