package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of processor times in /proc on every Linux.
const tick = 10 * time.Millisecond

// running is a process as /proc shows it.
type running struct {
	parent int
	used   time.Duration // with its ended children
}

// processorTime returns the processor time of a process and all below it.
func processorTime(pid int) (time.Duration, error) {
	all, err := processes()
	if err != nil {
		return 0, err
	}
	total := time.Duration(0)
	for child := range all {
		if isBelow(all, child, pid) {
			total += all[child].used
		}
	}
	return total, nil
}

// killTree ends a process and all below it by SIGKILL.
func killTree(pid int) error {
	all, err := processes()
	if err != nil {
		return err
	}
	for child := range all {
		if isBelow(all, child, pid) {
			_ = syscall.Kill(child, syscall.SIGKILL) // it may have ended with its parent
		}
	}
	return nil
}

func isBelow(all map[int]running, child, pid int) bool {
	for ; child > 1; child = all[child].parent {
		if child == pid {
			return true
		}
	}
	return false
}

// processes reads /proc. A process that ends meanwhile is left out.
func processes() (map[int]running, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no processes in /proc: the harness needs Linux (%w)", err)
	}
	all := make(map[int]running, len(files))
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		// The name in parentheses may have spaces.
		_, rest, _ := strings.Cut(string(content[strings.LastIndexByte(string(content), ')'):]), " ")
		fields := strings.Fields(rest)
		const (
			parent       = 1
			first, after = 11, 15 // utime, stime, cutime and cstime
		)
		if len(fields) < after {
			continue
		}
		var p running
		p.parent, _ = strconv.Atoi(fields[parent])
		for _, text := range fields[first:after] {
			ticks, _ := strconv.Atoi(text)
			p.used += time.Duration(ticks) * tick
		}
		all[pid] = p
	}
	return all, nil
}
