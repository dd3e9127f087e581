package sendlimittest

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	runSeedEnv   = "SENDLIMIT_TEST_SEED"         // the seed of the whole run; make test draws and prints it
	roundsEnv    = "SENDLIMIT_TEST_STORY_ROUNDS" // how many rounds a story has; make soak sets it
	roundSeedEnv = "SENDLIMIT_TEST_STORY_SEED"   // the one round to repeat
)

// Seeds returns the seeds of the rounds that a test has in make test: the first is the same
// in every run, the others follow from the run's seed. The name of a round should have its
// seed. Histories against a model are drawn by rapid instead, which takes the number of them
// and the seed from RAPID_CHECKS and RAPID_SEED. Make test and make soak set them too.
func Seeds(t *testing.T, rounds int) []uint64 {
	t.Helper()
	if seed, ok := number(t, roundSeedEnv); ok {
		return []uint64{seed}
	}
	if n, ok := number(t, roundsEnv); ok {
		rounds = int(n)
	}
	seed, ok := number(t, runSeedEnv)
	if !ok {
		seed = rand.Uint64()
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))
	random := rand.New(rand.NewPCG(seed, name.Sum64()))
	seeds := make([]uint64, 1, max(1, rounds))
	for len(seeds) < rounds {
		seeds = append(seeds, random.Uint64N(1<<30))
	}
	return seeds
}

func number(t *testing.T, env string) (n uint64, ok bool) {
	t.Helper()
	text := os.Getenv(env)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, env)
	return n, true
}
