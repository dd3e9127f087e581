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
