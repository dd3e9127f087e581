package integration_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The runtime of a worker in a container keeps below the container's memory limit.
func TestAWorkerKnowsTheMemoryLimitOfItsContainer(t *testing.T) {
	t.Parallel()
	const limit = 512 << 20
	p := buildPrograms(t)
	group := cgroup(t, limit)
	folder := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/cgroup.procs\nexec %s \"$@\"\n", group, filepath.Join(p.folder, "sendlimit-worker"))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "sendlimit-worker"), []byte(script), 0o700))
	for given, want := range map[string]int{"": limit * 9 / 10, "GOMEMLIMIT=300MiB": 300 << 20} {
		w := programs{folder: folder}.worker(t, []string{given})
		w.delivers(t)
		metrics := bodyOf(t, strings.TrimSuffix(w.logged(t, "health endpoint", "url"), "healthz")+"metrics")
		found := regexp.MustCompile(`(?m)^go_gc_gomemlimit_bytes (.+)$`).FindStringSubmatch(metrics)
		require.NotNil(t, found)
		var got float64
		_, err := fmt.Sscan(found[1], &got)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1<<20, given)
		require.Zero(t, w.end(t))
	}
}

// cgroup makes a group of processes with a memory limit, in the version of cgroups that this machine
// has.
func cgroup(t *testing.T, limit int) (folder string) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("no cgroups")
	}
	root, file := "/sys/fs/cgroup", "memory.max"
	found := regexp.MustCompile(`(?m)^0::(.*)$`).FindStringSubmatch(string(own))
	if old := regexp.MustCompile(`(?m)^\d+:memory:(.*)$`).FindStringSubmatch(string(own)); old != nil {
		root, file, found = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", old
	}
	folder = filepath.Join(root, found[1], filepath.Base(t.TempDir())+fmt.Sprint(os.Getpid()))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Skipf("no rights to cgroups: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, os.Remove(folder)) })
	if err := os.WriteFile(filepath.Join(folder, file), []byte(fmt.Sprint(limit)), 0o600); err != nil {
		t.Skipf("no memory limits in cgroups: %v", err)
	}
	return folder
}
