package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// SteppedServer is a server whose clock can be set.
type SteppedServer struct {
	*Server

	offset string // the file that libfaketime reads the offset from
}

// RealStepped is Real with a clock that Step sets. It skips the test without libfaketime, which is in
// Debian's package faketime.
func RealStepped(tb testing.TB, args ...string) *SteppedServer {
	tb.Helper()
	NeedServer(tb)
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(found) == 0 {
		tb.Skip("no libfaketime, with which the clock of a Redis steps: install faketime")
	}
	s := &SteppedServer{offset: filepath.Join(tb.TempDir(), "offset")}
	s.Step(tb, 0)
	s.Server, err = Start(tb.Context(), Options{Args: args, environ: []string{
		// With the allocator of Debian's Redis, libfaketime calls itself without end.
		"LD_PRELOAD=" + found[0] + " libc.so.6",
		"FAKETIME_TIMESTAMP_FILE=" + s.offset, "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}})
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, s.Server)
	return s
}

// Step sets how far the server's clock is ahead of this machine's.
func (s *SteppedServer) Step(tb testing.TB, ahead time.Duration) {
	tb.Helper()
	if err := os.WriteFile(s.offset+".new", fmt.Appendf(nil, "%+ds\n", int(ahead.Seconds())), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(s.offset+".new", s.offset); err != nil { // Redis reads it all the time
		tb.Fatal(err)
	}
}
