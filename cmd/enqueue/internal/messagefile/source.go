package messagefile

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/tasks/bulk"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

// Fill has the values for fields that a line lacks.
type Fill struct {
	Title, Body, Category, Campaign string
}

// Columns returns the fields that a CSV file may lack, since f has them.
func (f Fill) Columns() []string {
	var names []string
	for name, text := range map[string]string{"title": f.Title, "body": f.Body} {
		if text != "" {
			names = append(names, name)
		}
	}
	return names
}

// in fills in the fields that a draft lacks.
func (f Fill) in(draft *message.Draft) {
	draft.Title = cmp.Or(draft.Title, f.Title)
	draft.Body = cmp.Or(draft.Body, f.Body)
	draft.Category = cmp.Or(draft.Category, f.Category)
	draft.Campaign = cmp.Or(draft.Campaign, f.Campaign)
}

// Source turns the records of a file into messages.
type Source struct {
	records *input.Reader
	fill    Fill
	zone    string
	from    int
	sent    bool

	mu      sync.Mutex // guards the fields below: bulk.Run does not wait for a Next that hangs
	counter *ordinals
	closed  bool
}

var errClosed = errors.New("the file was closed")

// keysInMemory is how many different lines without an id are counted in memory: about 10 MB.
const keysInMemory = 1 << 18

// NewSource returns the messages of a file from a line on. Local times without a zone are in
// zone, see message.LocalTime; "" allows none. sent means that another system has sent them. Close it.
func NewSource(records *input.Reader, fill Fill, zone string, from int, sent bool) *Source {
	return &Source{
		records: records, fill: fill, zone: zone, from: from, sent: sent, counter: newOrdinals(keysInMemory, ""),
	}
}

// Next returns the next line. The error is io.EOF at the end. No lines follow another error.
func (s *Source) Next() (bulk.Line, error) {
	for {
		record, err := s.records.Next()
		if errors.Is(err, io.EOF) {
			return bulk.Line{}, io.EOF
		}
		if err != nil {
			return bulk.Line{}, fmt.Errorf("reading the file: %w", err)
		}
		line, err := s.line(record)
		// Lines before s.from count for derived ids.
		if err != nil || line.Number >= s.from {
			return line, err
		}
	}
}

// Trimmed returns how many values of CSV so far had white space at their ends, which was cut off.
func (s *Source) Trimmed() int { return s.records.Trimmed() }

func (s *Source) line(record input.Record) (bulk.Line, error) {
	s.fill.in(&record.Draft)
	if record.Invalid == nil {
		record.Draft.SetZone("tz", s.zone)
	}
	line := bulk.LineOf(record, s.read)
	var err error
	if line.Invalid == nil && line.Message.ID == "" {
		line.Message.ID, err = s.deriveID(line.Message)
	}
	return line, err
}

func (s *Source) read(d message.Draft) (message.Message, error) {
	if s.sent {
		return d.Sent(s.parseTime)
	}
	return d.Message(s.parseTime)
}

func (s *Source) deriveID(m message.Message) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errClosed
	}
	content := contentOf(m)
	nth, err := s.counter.Next(content)
	if err != nil {
		return "", fmt.Errorf("counting identical lines: %w", err)
	}
	return autoID(content, nth), nil
}

// parseTime reads a time of a file. It rejects a time relative to now, which would differ in each
// run.
func (s *Source) parseTime(text string) (at time.Time, now bool, err error) {
	when, err := cli.ParseFixedTime("", text, nil)
	return when.At, when.Now, err
}

// Close removes the temporary file of the source. It does not wait for a call of Next,
// which then fails.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.counter.Close()
}

// autoID derives the id of a message without one from its content, and from the number of equal
// messages before it in the file. So the same file has the same ids, whatever lines are in between.
// It must never change: files are run again after years, by newer programs.
func autoID(content lineKey, nth uint32) string {
	id := "auto-" + hex.EncodeToString(content[:])
	if nth > 1 {
		id += fmt.Sprintf("-%d", nth)
	}
	return id
}

// contentOf returns the same key for messages with the same content. How a time is written does not
// matter, unless it is in the user's zone, which may change.
func contentOf(m message.Message) lineKey {
	if !m.InZoneOfUser() {
		if resolved, _, err := m.Resolve(calendar.ParseTimeZone); err == nil {
			m = resolved
			m.Local = nil
		}
	}
	return message.Fingerprint(m)
}
