package worldtest_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

func TestOne(t *testing.T) {
	first, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	n, _ := strconv.ParseUint(os.Getenv("N"), 10, 64)
	var features []worldtest.Feature
	if f := os.Getenv("FEATURES"); f != "" {
		for _, one := range strings.Split(f, ",") {
			features = append(features, worldtest.Feature(one))
		}
	}
	for seed := first; seed < first+max(n, 1); seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			p := worldtest.Draw(seed, worldtest.Config{Features: features})
			if os.Getenv("PLAN") != "" {
				t.Log(p)
			}
			s, faults := worldtest.Play(t, p)
			t.Log(p.Features, len(s.Trace), "calls", len(s.Arrivals), "arrivals", len(faults), "faults")
			for _, f := range faults {
				t.Log("FAULT ", f)
			}
			require.Empty(t, len(faults))
		})
	}
}
