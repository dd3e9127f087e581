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
