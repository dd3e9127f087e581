package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestPaceAndLimitsOfEvents(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	pace, err := a.SetPace(ctx, client.NewPace{Rate: "100/second", Burst: 20})
	require.NoError(t, err)
	require.Equal(t, client.Pace{Target: "push", Rate: "100/second", Burst: 20}, pace)
	now, err := a.Pace(ctx)
	require.NoError(t, err)
	require.Equal(t, pace, now)
	var wrong *client.InvalidError
	require.ErrorAs(t, second(a.SetPace(ctx, client.NewPace{Rate: "fast"})), &wrong)
	require.Equal(t, "rate", wrong.Field)
	now, err = a.ClearPace(ctx)
	require.NoError(t, err)
	require.Equal(t, client.Pace{Target: "push"}, now)

	limits := client.NewEventLimits{PerDay: 500, TimeZone: "Europe/Berlin", AlertAt: []int{80}, AlertTo: "ops@acme.example"}
	set, err := a.SetEventLimits(ctx, "submit", limits)
	require.NoError(t, err)
	require.Equal(t, client.EventLimits{
		Event: "submit", PerDay: 500, TimeZone: "Europe/Berlin", AlertAt: []int{80}, AlertTo: "ops@acme.example",
	}, set)
	require.ErrorAs(t, second(a.SetEventLimits(ctx, "login", limits)), &wrong)
	require.Equal(t, "event", wrong.Field)
	limits.Custom = true
	custom, err := a.SetEventLimits(ctx, "login", limits)
	require.NoError(t, err)
	require.Equal(t, []client.EventLimits{custom, set}, listed(t, a.AllEventLimits(ctx, client.PageRequest{PageSize: 1})))
	shown, err := a.EventLimits(ctx, "submit")
	require.NoError(t, err)
	require.Equal(t, set, shown)
	done, err := a.RemoveEventLimits(ctx, "submit")
	require.NoError(t, err)
	require.Equal(t, client.EventLimitsRemoval{Outcome: "removed", Event: "submit"}, done)
	require.ErrorIs(t, second(a.RemoveEventLimits(ctx, "submit")), client.ErrNotFound)
	require.ErrorIs(t, second(a.EventLimits(ctx, "submit")), client.ErrNotFound)
	require.ErrorAs(t, second(a.RemoveEventLimits(ctx, "")), &wrong)
	require.Equal(t, "event", wrong.Field)
}
