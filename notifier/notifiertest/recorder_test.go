package notifiertest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/notifier"
	"github.com/sendlimit/sendlimiter/notifier/notifiertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRecorderConformance(t *testing.T) {
	t.Parallel()
	notifiertest.Run(t, notifiertest.Suite{
		New: func(*testing.T) notifier.Notifier { return notifiertest.NewRecorder(time.Now) },
		Failing: func(*testing.T) notifier.Notifier {
			r := notifiertest.NewRecorder(time.Now)
			r.Script(notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone, Err: context.Canceled})
			return r
		},
		Stuck: func(*testing.T) notifier.Notifier {
			r := notifiertest.NewRecorder(time.Now)
			r.AnswerWith(func(ctx context.Context, _ notifier.Notification) notifier.Result {
				<-ctx.Done()
				return notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonTimeout, Err: ctx.Err()}
			})
			return r
		},
	})
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 22, 11, 11, 11, 0, time.UTC)
	recorder := notifiertest.NewRecorder(func() time.Time { return at })
	busy := notifier.Result{Status: notifier.Retry, Reason: notifier.ReasonRateLimited}
	gone := notifier.Result{Status: notifier.Permanent, Reason: notifier.ReasonGone}
	recorder.Script(busy)
	recorder.Script(gone)
	recorder.AnswerWith(func(context.Context, notifier.Notification) notifier.Result { return busy })

	ids := []string{"1", "2", "3"}
	for i, want := range []notifier.Result{busy, gone, busy} {
		require.Equal(t, want, recorder.Notify(t.Context(), notifier.Notification{ID: ids[i]}))
	}
	recorder.AnswerWith(nil)
	require.Equal(t, notifier.Delivered, recorder.Notify(t.Context(), notifier.Notification{ID: "4"}).Status)

	deliveries := recorder.Deliveries()
	require.Len(t, deliveries, 4)
	require.Equal(t, notifiertest.Delivery{Notification: notifier.Notification{ID: "1"}, At: at}, deliveries[0])
	require.Equal(t, "4", deliveries[3].Notification.ID)
}

func TestRecorderWait(t *testing.T) {
	t.Parallel()
	recorder := notifiertest.NewRecorder(time.Now)
	go func() {
		for range 3 {
			recorder.Notify(t.Context(), notifier.Notification{})
		}
	}()
	deliveries, err := recorder.Wait(t.Context(), 3)
	require.NoError(t, err)
	require.Len(t, deliveries, 3)

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	deliveries, err = recorder.Wait(ctx, 4)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "waiting for 4, of which 3 came")
	require.Len(t, deliveries, 3)
}
