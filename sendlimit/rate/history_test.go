package rate_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The scripts and a plain list give the same answers to any history.
func TestPermitsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckPermits(t, client, fmt.Sprintf("p%d", histories.Add(1)))
	})
}

// So do they and a fraction.
func TestTokenBucketsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckTokenBucket(t, client, fmt.Sprintf("t%d", histories.Add(1)))
	})
}
