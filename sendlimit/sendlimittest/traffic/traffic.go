package traffic

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

// PathEnv is the name of the environment variable with the path of the real
// traffic.
const PathEnv = "SENDLIMIT_TRAFFIC"

// DefaultSeed is the seed of the traffic that Load generates.
const DefaultSeed = 1

const (
	modulePath = "github.com/sendlimit/sendlimiter"
	// realTraffic is the usual path of the real traffic, relative to the module.
	realTraffic = "../shared/data/sends.csv.gz"
)

// Send is a message to be sent to a user.
type Send struct {
	User   string
	Offset time.Duration // from the start of a year; whole seconds
}

// Trace is a year of sends in the order of their submission. The order differs
// from that of their send times, and sends come in bursts.
type Trace struct {
	Sends []Send
	// Source describes the origin of the sends. Print it beside figures that
	// were measured with them.
	Source string
	// Real is true for real traffic and false for generated traffic.
	Real bool
}

// Request returns the request for the i-th send in a year that begins at
// start. Every request has its own id, which is the same in every run.
func (t Trace) Request(i int, start time.Time) sendlimit.Request {
	return sendlimit.Request{
		User: t.Sends[i].User,
		ID:   "line-" + strconv.Itoa(i+1),
		At:   start.Add(t.Sends[i].Offset),
	}
}

// Load returns the first lines of the real traffic. If there is no file of it,
// Load generates as many lines instead. Zero lines means all lines of the real
// traffic, and as many generated ones.
//
// The file is the one that PathEnv names. If PathEnv is not set, it is
// ../shared/data/sends.csv.gz, relative to the module of the working
// directory. A missing file is an error only if PathEnv names it.
func Load(lines int) (Trace, error) {
	path := os.Getenv(PathEnv)
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
	sends, err := Read(path)
	if err != nil {
		return Trace{}, err
	}
	if lines > 0 {
		sends = sends[:min(lines, len(sends))]
	}
	return Trace{
		Sends:  sends,
		Source: fmt.Sprintf("real traffic, %d lines of %s", len(sends), filepath.Base(path)),
		Real:   true,
	}, nil
}

func generated(lines int) Trace {
	if lines <= 0 {
		lines = realLines
	}
	return Trace{
		Sends:  Generate(DefaultSeed, lines),
		Source: fmt.Sprintf("generated traffic, %d lines, seed %d", lines, DefaultSeed),
	}
}

// Read reads a gzipped CSV file with the header user,offset_s. An error names
// the file and the invalid line.
func Read(path string) ([]Send, error) {
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

// moduleRoot returns the nearest folder with this module's go.mod, from the
// working directory upwards. This works for the benchmarks too: they are
// another module inside this one.
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
