package story

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// StoreCampaign stores the records of n messages of a campaign without an account, and their
// index, as cheaply as tests of many messages need it: they have no places, and are not sent.
func StoreCampaign(tb testing.TB, client redis.Cmdable, keys keyspace.Keys, campaign string, n int, at time.Time) {
	tb.Helper()
	_, err := client.Pipelined(tb.Context(), func(pipe redis.Pipeliner) error {
		for i := range n {
			user, id := fmt.Sprintf("user-%d", i), fmt.Sprintf("m%d", i)
			pipe.HSet(tb.Context(), keys.Record(user, id), keyspace.RecordGeneration, "g", keyspace.RecordSendAt, at.UnixMilli(),
				keyspace.RecordCampaign, campaign)
			_, part := keyspace.IndexPartsOf(user, id) // as if the first one were full
			pipe.ZAdd(tb.Context(), keys.Campaigns(keyspace.Partition(user), part), redis.Z{
				Score: float64(keyspace.CampaignScore("", campaign)), Member: keyspace.IndexMember(user, id),
			})
		}
		return nil
	})
	require.NoError(tb, err)
}
