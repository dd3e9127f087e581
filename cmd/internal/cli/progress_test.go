package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vbauerster/mpb/v8"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/output"
)

func TestTheQuestionWhetherAllAreMeant(t *testing.T) {
	t.Parallel()
	for answer, agreed := range map[string]bool{
		"y\n": true, "Yes\n": true, " yes \r\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yesterday\n": false,
	} {
		var asked strings.Builder
		got, err := Ask(strings.NewReader(answer), &asked, "Forget 3 dead letters for good?")
		require.NoError(t, err)
		require.Equal(t, agreed, got, "%q", answer)
		require.Equal(t, "Forget 3 dead letters for good? [y/N] ", asked.String())
	}
	require.False(t, IsTerminal(strings.NewReader("")))
}

func TestProgress(t *testing.T) {
	t.Parallel()
	var terminal output.Buffer
	bar := newProgress(&terminal, "purged", 0, 12, mpb.WithAutoRefresh())
	bar.Add(5)
	shows := func(text string) func() bool {
		return func() bool { return strings.Contains(terminal.String(), text) }
	}
	require.Eventually(t, shows("5 of 12 purged"), 10*time.Second, time.Millisecond)
	require.Eventually(t, shows(" left"), 10*time.Second, time.Millisecond)
	require.NoError(t, bar.Printf("refused: %s\n", "it"))
	require.Eventually(t, shows("refused: it\n"), 10*time.Second, time.Millisecond)
	bar.End()
	bar.End()

	var file strings.Builder
	bar = StartProgress(&file, "purged", 12)
	bar.Add(5)
	require.NoError(t, bar.Printf("refused: %s\n", "it"))
	bar.End()
	require.Equal(t, "refused: it\n", file.String())
}

// Of work of which nobody knows how much it is, what is done is shown, on a terminal only.
func TestStartCount(t *testing.T) {
	t.Parallel()
	var terminal output.Buffer
	bar := newCount(&terminal, "messages counted", mpb.WithAutoRefresh())
	bar.Add(1000)
	bar.Add(7)
	require.Eventually(t, func() bool { return strings.Contains(terminal.String(), "1007 messages counted") }, 10*time.Second, time.Millisecond)
	bar.End()

	var file strings.Builder
	bar = StartCount(&file, "messages counted")
	bar.Add(5)
	bar.SetTotal(7)
	bar.End()
	require.Empty(t, file.String())
}
