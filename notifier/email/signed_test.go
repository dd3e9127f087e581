package email_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/notifier"
)

// The numbers of a report add up, and say whether more messages wait or fewer.
func TestTheReportAddsUp(t *testing.T) {
	t.Parallel()
	n := sample(t, notifier.NoticeDailyReport)
	r := n.Report
	require.Equal(t, r.Accepted+r.Retried, r.Sent+r.Dropped+r.Failed+r.Cancelled+r.WaitingChange)
	for change, want := range map[int64]string{1247: "+1,247", 0: "0", -1247: "-1,247"} {
		r.WaitingChange = change
		require.Contains(t, render(t, n).Text, "compared with its beginning: "+want+"\n")
		require.Contains(t, render(t, n).HTML, ">"+map[bool]string{true: "&#43;1,247", false: want}[change > 0]+"<")
	}
}
