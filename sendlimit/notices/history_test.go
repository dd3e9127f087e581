package notices_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The outbox and the model agree, also if workers die.
func TestNoticesAgreeWithTheirAccount(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckNotices(t, client, fmt.Sprintf("n%d", histories.Add(1)))
	})
}
