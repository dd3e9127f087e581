package serve

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/internal/store"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

func TestTheSizeOfAnEmbeddedStoreIsWarnedOfSeldom(t *testing.T) {
	t.Parallel()
	began := time.Unix(0, 0)
	var warnings sizeWarnings
	for _, step := range []struct {
		after   time.Duration
		pending int
		due     bool
	}{
		{0, store.EmbeddedCapacity, false},
		{time.Second, store.EmbeddedCapacity + 1, true},
		{2 * time.Second, store.EmbeddedCapacity + 2, false},
		{3 * time.Second, 2 * store.EmbeddedCapacity, false},
		{4 * time.Second, 2*store.EmbeddedCapacity + 2, true},
		{time.Hour, 3 * store.EmbeddedCapacity, false},
		{time.Hour + 4*time.Second, 3 * store.EmbeddedCapacity, true},
		{time.Hour + 5*time.Second, 10, false},
		{time.Hour + 6*time.Second, store.EmbeddedCapacity + 1, true}, // it was small in between
	} {
		require.Equal(t, step.due, warnings.due(step.pending, began.Add(step.after)), step)
	}
}

func TestALargeEmbeddedStoreIsWarnedOf(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	keys, err := keyspace.NewKeys("")
	require.NoError(t, err)
	for partition := range 2 {
		members := make([]redis.Z, 0, store.EmbeddedCapacity)
		for n := range store.EmbeddedCapacity/2 + 1 {
			members = append(members, redis.Z{Member: strconv.Itoa(n)})
		}
		require.NoError(t, client.ZAdd(t.Context(), keys.NearOf(partition), members...).Err())
	}
	log := new(bytes.Buffer)
	s := storage{client: client, embedded: &store.Embedded{}}
	s.warnIfLarge(t.Context(), "", new(sizeWarnings), time.Now(), slog.New(slog.NewTextHandler(log, nil)))
	require.Contains(t, log.String(), "pending=10002 meant_for=10000")
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
}
