package submit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/records/quota"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
)

// A process whose clock is behind that of the store refuses a time that has just passed as the
// store would: it stands for now.
func TestARefusedTimeThatHasJustPassedIsNow(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, time.November, 28, 11, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Time{
		-time.Second: asked, 300 * time.Millisecond: asked.Add(300 * time.Millisecond), policy.Grace + time.Second: asked,
	} {
		refused := quota.Charge{Code: fault.CodeQuotaExceeded, Now: asked.Add(after)}
		refused.At = asked
		d := sendlimit.Decision{Code: fault.CodeQuotaExceeded, At: want, Now: refused.Now}
		if !want.Equal(asked) {
			d.RequestedAt = asked
		}
		require.Equal(t, d, chargeDecision(asked, refused), after)
	}
}
