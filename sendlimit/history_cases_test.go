package sendlimit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
)

// Free times found among messages of another category count as taken, without
// becoming messages of that category. Random histories hardly ever hit this.
func TestFreeTimesAmongMessagesOfAnotherCategory(t *testing.T) {
	t.Parallel()
	p := story.PolicyOf(t, "10/minute")
	p.UnknownCategories = policy.AllowUnknown
	p.Categories = map[string]policy.CategoryRules{
		"marketing": {Rules: []policy.Rule{{Limit: 3, Window: time.Minute}}},
	}
	s := story.Tell(t, sendlimit.Options{Rules: story.RulesBy(t, p), Records: true})
	for id, category := range map[string]string{"11:00:10": "news", "11:00:20": "marketing"} {
		d := s.Ask(sendlimit.Request{
			ID: id, At: story.At(id), Category: category,
			Record: &sendlimit.Record{Generation: category, Category: category, Fingerprint: id, Content: []byte("text")},
		})
		require.True(t, d.Allowed)
	}
	free, err := s.Timeline.NextFree(t.Context(), sendlimit.NextFreeRequest{
		User: "alice", From: story.At("11:00"), Category: "marketing", Count: 4,
	})
	require.NoError(t, err)
	require.Equal(t, []time.Time{story.At("11:00"), story.At("11:00"), story.At("11:01"), story.At("11:01")}, free)
}
