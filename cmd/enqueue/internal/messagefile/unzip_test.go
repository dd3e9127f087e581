package messagefile_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/cmd/enqueue/internal/messagefile"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
)

// zip returns parts of a text as gzip streams behind each other.
func zip(t *testing.T, parts ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	for _, part := range parts {
		w := gzip.NewWriter(&file)
		_, err := io.WriteString(w, part)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return file.Bytes()
}

func unzip(t *testing.T, file io.Reader, trusted bool) (string, error) {
	t.Helper()
	text, err := messagefile.Unzip(file, trusted)
	if err != nil {
		return "", err
	}
	all, err := io.ReadAll(text)
	return string(all), err
}

func TestUnzip(t *testing.T) {
	t.Parallel()
	for want, file := range map[string][]byte{
		"plain":     []byte("plain"),
		"one two":   zip(t, "one two"),
		"one three": zip(t, "one ", "three"),
		"":          nil,
		"x":         []byte("x"),
	} {
		text, err := unzip(t, iotest.OneByteReader(bytes.NewReader(file)), false)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
}

func TestABrokenGzipFile(t *testing.T) {
	t.Parallel()
	whole := zip(t, strings.Repeat("some text ", 100))
	for name, file := range map[string][]byte{
		"cut off":  whole[:len(whole)-3],
		"checksum": append(bytes.Clone(whole[:len(whole)-8]), 0, 0, 0, 0, 0, 0, 0, 0),
		"no gzip":  []byte("\x1f\x8bno"),
	} {
		_, err := unzip(t, bytes.NewReader(file), false)
		var wrong *fault.InvalidError
		require.ErrorAs(t, err, &wrong, name)
		require.Equal(t, "file", wrong.Field)
		require.Equal(t, "the gzip file is broken", wrong.Error(), name)
	}
	burns := errors.New("disk on fire")
	_, err := unzip(t, io.MultiReader(bytes.NewReader(whole[:20]), iotest.ErrReader(burns)), false)
	require.ErrorIs(t, err, burns)
}

// A file that grows too much is refused before much of it is unzipped. A file of messages
// with the same text is not.
func TestAGzipFileThatGrowsTooMuch(t *testing.T) {
	t.Parallel()
	bomb := zip(t, strings.Repeat("\n", 3<<20))
	text, err := messagefile.Unzip(bytes.NewReader(bomb), false)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, text)
	var wrong *fault.InvalidError
	require.ErrorAs(t, err, &wrong)
	require.Contains(t, wrong.Error(), "more than 200 times its size")
	require.Contains(t, wrong.Error(), "--force")
	require.Less(t, n, int64(2<<20))

	all, err := unzip(t, bytes.NewReader(bomb), true)
	require.NoError(t, err)
	require.Len(t, all, 3<<20)

	var messages strings.Builder
	for i := range 15_000 {
		fmt.Fprintf(&messages, `{"user":"user-%d","send_at":"2040-06-22T09:00:00Z","title":"Your order","body":"is on its way"}`+"\n", i)
	}
	all, err = unzip(t, bytes.NewReader(zip(t, messages.String())), false)
	require.NoError(t, err)
	require.Len(t, all, messages.Len())
}
