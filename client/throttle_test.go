package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/client"
)

func TestAThrottleOfTheRealAPI(t *testing.T) {
	t.Parallel()
	a := realAPIOf(t)
	ctx := t.Context()
	p := client.Policy{Name: "default", Rules: []string{"1/minute"}}
	p.Categories = map[string]client.PolicyCategory{"ads": {Throttle: "1/minute"}}
	change, err := a.ApplyPolicy(ctx, p)
	require.NoError(t, err)
	require.Equal(t, "1/minute", change.New.Categories["ads"].Throttle)
	minute := a.now.Truncate(time.Minute).Add(time.Hour)
	ad := func(user string) client.Message {
		return client.Message{User: user, ID: user, SendAt: minute, Title: "Hi", Category: "ads"}
	}
	_, err = a.Submit(ctx, ad("alice"))
	require.NoError(t, err)
	_, err = a.Submit(ctx, ad("bob"))
	var refused *client.Refusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, client.CodeThrottled, refused.Code)
	require.Equal(t, minute.Add(time.Minute).UTC(), refused.NextFreeAt)
	require.Contains(t, refused.Detail, "ads messages are limited to 1 a minute over all users, and 1 is scheduled for ")
	again := ad("bob")
	again.OnConflict = client.OnConflictShift
	shifted, err := a.Submit(ctx, again)
	require.NoError(t, err)
	require.Equal(t, minute.Add(time.Minute).UTC(), shifted.SendAt)

	p.Categories["ads"] = client.PolicyCategory{Throttle: "1/day"}
	_, err = a.ApplyPolicy(ctx, p)
	isInvalid(t, err, "categories.ads.throttle")
}
