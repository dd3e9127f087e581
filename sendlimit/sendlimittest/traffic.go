package sendlimittest

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit"
)

// TrafficEnv names the environment variable with the path of the real
// traffic, for where it is not at its usual place.
const TrafficEnv = "SENDLIMIT_TRAFFIC"

// DefaultTrafficSeed is the seed of the traffic that LoadTraffic generates.
const DefaultTrafficSeed = 1

const (
	modulePath = "github.com/sendlimit/sendlimiter"
	// realTraffic is where the real traffic is, relative to the module.
	realTraffic = "../shared/data/sends.csv.gz"
)

// Send is a message to be sent to a user.
type Send struct {
	User   string
	Offset time.Duration // from the start of a year; whole seconds
}

// Traffic is a year of sends in the order in which they are to be submitted:
// bursty, and not in the order of their times.
type Traffic struct {
	Sends []Send
	// Source says where they are from, to be printed beside what was measured
	// with them.
	Source string
	// Real is false for generated traffic.
	Real bool
}

// Request returns the request for the i-th send, in a year that begins at
// start. Each has an id of its own, the same in every run.
func (t Traffic) Request(i int, start time.Time) sendlimit.Request {
	return sendlimit.Request{
		User: t.Sends[i].User,
		ID:   "line-" + strconv.Itoa(i+1),
		At:   start.Add(t.Sends[i].Offset),
	}
}

// LoadTraffic returns the first lines of the real traffic, or generated
// traffic of so many lines where the real one is absent; zero lines means as
// many as the real traffic has. Looked for is what TrafficEnv names, or else
// the usual place beside the module around the working directory.
//
// An absent file is no error, unless TrafficEnv names it.
func LoadTraffic(lines int) (Traffic, error) {
	path := os.Getenv(TrafficEnv)
	if path == "" {
		root, ok := moduleRoot()
		if !ok {
			return generated(lines), nil
		}
		path = filepath.Join(root, realTraffic)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return generated(lines), nil
		}
	}
	sends, err := RealTraffic(path)
	if err != nil {
		return Traffic{}, err
	}
	if lines > 0 {
		sends = sends[:min(lines, len(sends))]
	}
	return Traffic{
		Sends:  sends,
		Source: fmt.Sprintf("real traffic, %d lines of %s", len(sends), filepath.Base(path)),
		Real:   true,
	}, nil
}

func generated(lines int) Traffic {
	if lines <= 0 {
		lines = realLines
	}
	return Traffic{
		Sends:  GenerateTraffic(DefaultTrafficSeed, lines),
		Source: fmt.Sprintf("generated traffic, %d lines, seed %d", lines, DefaultTrafficSeed),
	}
}

// RealTraffic reads a gzipped CSV file with the header user,offset_s. An error
// names the file, and the line that is wrong.
func RealTraffic(path string) ([]Send, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open traffic: %w", err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("unzip %s: %w", path, err)
	}
	sends, err := readSends(unzipped)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return sends, nil
}

func readSends(from io.Reader) ([]Send, error) {
	rows := csv.NewReader(from)
	rows.ReuseRecord = true
	rows.FieldsPerRecord = 2
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if header[0] != "user" || header[1] != "offset_s" {
		return nil, fmt.Errorf("header is %q, not user,offset_s", strings.Join(header, ","))
	}
	var sends []Send
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return sends, nil
		}
		if err != nil {
			return nil, fmt.Errorf("line: %w", err)
		}
		offset, err := strconv.ParseInt(row[1], 10, 32)
		if err != nil {
			line, _ := rows.FieldPos(1)
			return nil, fmt.Errorf("line %d: offset: %w", line, err)
		}
		sends = append(sends, Send{User: row[0], Offset: time.Duration(offset) * time.Second})
	}
}

// moduleRoot returns the nearest folder around the working directory that
// has this module's go.mod. The benchmarks are in it, though they are a module
// of their own.
func moduleRoot() (string, bool) {
	folder, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		first, _, _ := strings.Cut(string(content), "\n")
		if err == nil && strings.TrimSpace(first) == "module "+modulePath {
			return folder, true
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", false
		}
		folder = parent
	}
}
