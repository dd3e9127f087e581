package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr, time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// message has some of the fields that a submit accepts.
type message struct {
	ID     string    `json:"id"`
	User   string    `json:"user"`
	SendAt time.Time `json:"send_at"`
	Title  string    `json:"title"`
}

func run(args []string, stdout, stderr io.Writer, now time.Time) error {
	flags := flag.NewFlagSet("traffic", flag.ContinueOnError)
	flags.SetOutput(stderr)
	lines := flags.Int("lines", 0, "how many `messages`; 0 for a year's")
	// From the next midnight, all of a year is in the future and within reach.
	from := flags.String("start", now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1).Format(time.RFC3339),
		"`time` at which the year of the traffic begins")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return fmt.Errorf("reading the command line: %w", err)
	}
	start, err := time.Parse(time.RFC3339, *from)
	if err != nil {
		return fmt.Errorf("reading -start: %w", err)
	}
	trace, err := traffic.Load(*lines)
	if err != nil {
		return fmt.Errorf("loading the traffic: %w", err)
	}
	fmt.Fprintln(stderr, trace.Source)
	return write(stdout, trace, start)
}

func write(w io.Writer, trace traffic.Trace, start time.Time) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	for i := range trace.Sends {
		r := trace.Request(i, start)
		m := message{ID: r.ID, User: r.User, SendAt: r.At, Title: fmt.Sprintf("Message %d", i+1)}
		if err := encoder.Encode(m); err != nil {
			return fmt.Errorf("printing a message: %w", err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("printing the messages: %w", err)
	}
	return nil
}
