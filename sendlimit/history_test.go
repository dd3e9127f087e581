package sendlimit_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
)

// The scripts and the model give the same answers to random histories.
func TestTimelineAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckHistory(t, client, fmt.Sprintf("h%d", histories.Add(1)))
	})
}

// Answers for users with many more reservations than the rules allow equal the model's.
func TestCrowdsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var crowds atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckCrowd(t, client, fmt.Sprintf("w%d", crowds.Add(1)))
	})
}

// Forbidden times are those that Check and Move refuse, each for the same reasons.
func TestForbiddenTimesAreRefused(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories, compared atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		compared.Add(int64(sendlimittest.CheckForbidden(t, client, fmt.Sprintf("f%d", histories.Add(1)))))
	})
	t.Logf("%d decisions compared in %d histories", compared.Load(), histories.Load())
}

// Alerts of users equal those of a model that looks at the whole timeline.
func TestAlertsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	_, client := redistest.Embedded(t)
	var histories atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckAlerts(t, client, fmt.Sprintf("a%d", histories.Add(1)))
	})
}

// Records, gate and watch list equal a plain model of each message.
func TestMessagesAgreeWithTheirAccount(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	_, client := redistest.Embedded(t)
	var mailboxes atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		sendlimittest.CheckMessages(t, client, fmt.Sprintf("m%d", mailboxes.Add(1)))
	})
}
