package pipe_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/sendlimit/sendlimiter/internal/pipe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBuffered(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	conn := pipe.Buffered(ours)
	for range 100 { // before the other side reads
		_, err := io.WriteString(conn, "ab")
		require.NoError(t, err)
	}
	read := make([]byte, 200)
	_, err := io.ReadFull(theirs, read)
	require.NoError(t, err)
	require.Equal(t, "abab", string(read[196:]))

	require.NoError(t, theirs.Close())
	_, err = conn.Read(read)
	require.ErrorIs(t, err, io.EOF, "as a socket")
	require.NoError(t, conn.Close())
	_, err = conn.Read(read)
	require.ErrorIs(t, err, io.EOF)
}
