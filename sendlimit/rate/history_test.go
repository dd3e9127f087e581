package rate_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The scripts and a plain list give the same answers to random histories.
func TestPermitsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckPermits(t, client, fmt.Sprintf("p%d", histories.Add(1)))
	})
}

// The scripts and a fraction give the same answers to random histories.
func TestTokenBucketsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckTokenBucket(t, client, fmt.Sprintf("t%d", histories.Add(1)))
	})
}
