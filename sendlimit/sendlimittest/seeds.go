package sendlimittest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	roundsEnv    = "SENDLIMIT_TEST_STORY_ROUNDS" // how many rounds a story has; make soak sets it
	roundSeedEnv = "SENDLIMIT_TEST_STORY_SEED"   // the one round to repeat
)

// Seeds returns the seeds of a story's rounds. The first is the same in every run, the
// others are not. The name of a round should have its seed.
func Seeds(t *testing.T, rounds int) []uint64 {
	t.Helper()
	if text := os.Getenv(roundSeedEnv); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, roundSeedEnv)
		return []uint64{seed}
	}
	if text := os.Getenv(roundsEnv); text != "" {
		var err error
		rounds, err = strconv.Atoi(text)
		require.NoError(t, err, roundsEnv)
	}
	seeds := make([]uint64, 1, max(1, rounds))
	for len(seeds) < rounds {
		seeds = append(seeds, rand.Uint64N(1<<30))
	}
	return seeds
}
