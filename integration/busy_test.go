package integration_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// busyMeter tells whether the machine had too much else to do for a statement about how late
// messages are. It asks for a little processor time again and again, and counts how often it
// waited long for it.
type busyMeter struct {
	mu            sync.Mutex
	samples, slow int
	stall         time.Duration // the longest
}

const (
	meterEvery = 250 * time.Millisecond
	meterSpins = 5 * time.Millisecond // of processor time
	// meterSlow is how many times longer than its processor time a slow sample takes.
	meterSlow = 3
	// meterStall is how long a thread waits at most on a machine that is not too busy.
	meterStall = 500 * time.Millisecond
)

// meterBusy starts a meter, which runs until the test ends.
func meterBusy(t *testing.T) *busyMeter {
	t.Helper()
	m := new(busyMeter)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		runtime.LockOSThread() // for the processor time of this goroutine alone
		defer runtime.UnlockOSThread()
		for ctx.Err() == nil {
			began := time.Now()
			time.Sleep(meterEvery)
			over := time.Since(began) - meterEvery
			m.add(over, spin())
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return m
}

// spin computes for a while, and returns how long that took.
func spin() time.Duration {
	began := time.Now()
	for end := threadTime() + meterSpins; threadTime() < end; {
		for range 1000 {
			began = began.Add(0)
		}
	}
	return time.Since(began)
}

// threadTime returns the processor time of this thread so far.
func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD of Linux
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		return time.Duration(time.Now().UnixNano()) // then only the wall clock counts
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (m *busyMeter) add(over, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples++
	if took > meterSlow*meterSpins {
		m.slow++
	}
	m.stall = max(m.stall, over, took)
}

// overloaded reports whether a tenth of the samples were slow, one waited very long, or more
// than four threads waited for each processor in the last minute.
func (m *busyMeter) overloaded(t *testing.T) bool {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Logf("%d of %d samples were slow, the longest wait was %s", m.slow, m.samples, m.stall)
	return m.slow*10 > m.samples || m.stall > meterStall || waiting(t) > float64(4*runtime.NumCPU())
}

// waiting returns how many threads waited for a processor in the last minute; 0 if the system
// does not say.
func waiting(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	var load float64
	_, err = fmt.Sscan(string(text), &load)
	require.NoError(t, err)
	return load
}
