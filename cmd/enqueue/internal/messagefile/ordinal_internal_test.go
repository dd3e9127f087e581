package messagefile

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func key(n int) lineKey {
	sum := sha256.Sum256([]byte(strconv.Itoa(n)))
	return lineKey(sum[:16])
}

// Whatever the bound, the counts are those of a plain map.
func TestCountsAreExact(t *testing.T) {
	t.Parallel()
	for _, bound := range []int{0, 1, 2, 3, 100, 5000} {
		counter := newOrdinals(bound, t.TempDir())
		random := rand.New(rand.NewPCG(1, 1))
		want := make(map[int]uint32)
		for range 10_000 {
			n := random.IntN(1 + random.IntN(4000)) // small ones come often
			want[n]++
			got, err := counter.Next(key(n))
			require.NoError(t, err)
			require.Equal(t, want[n], got, "bound %d, key %d", bound, n)
		}
		require.NoError(t, counter.Close())
	}
}

// Keys whose slots are the same, at the end of the table too.
func TestCollidingKeys(t *testing.T) {
	t.Parallel()
	counter := newOrdinals(0, t.TempDir())
	defer counter.Close()
	colliding := func(n uint64) lineKey {
		var k lineKey
		binary.LittleEndian.PutUint64(k[:8], ^uint64(0))
		binary.LittleEndian.PutUint64(k[8:], n)
		return k
	}
	for round := uint32(1); round <= 3; round++ {
		for n := range uint64(300) {
			got, err := counter.Next(colliding(n))
			require.NoError(t, err)
			require.Equal(t, round, got)
		}
	}
	got, err := counter.Next(lineKey{}) // a key like a free slot
	require.NoError(t, err)
	require.Equal(t, uint32(1), got)
	got, err = counter.Next(lineKey{})
	require.NoError(t, err)
	require.Equal(t, uint32(2), got)
}

func TestNothingIsLeftInTheFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	counter := newOrdinals(10, folder)
	for n := range 1000 {
		_, err := counter.Next(key(n))
		require.NoError(t, err)
	}
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, files, "not even while it is in use")
	require.NoError(t, counter.Close())

	unused := newOrdinals(10, folder)
	require.NoError(t, unused.Close())
}

func TestNoFolderForTheTable(t *testing.T) {
	t.Parallel()
	counter := newOrdinals(2, filepath.Join(t.TempDir(), "absent"))
	defer counter.Close()
	for n := range 2 {
		_, err := counter.Next(key(n))
		require.NoError(t, err)
	}
	_, err := counter.Next(key(2))
	require.ErrorContains(t, err, "making a table of lines: ")
	got, err := counter.Next(key(1))
	require.NoError(t, err)
	require.Equal(t, uint32(2), got, "what is counted stays so")
}

func BenchmarkNext(b *testing.B) {
	for name, bound := range map[string]int{"memory": 1 << 30, "file": 0} {
		b.Run(name, func(b *testing.B) {
			counter := newOrdinals(bound, b.TempDir())
			defer counter.Close()
			for n := 0; b.Loop(); n++ {
				if _, err := counter.Next(key(n % 300_000)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
