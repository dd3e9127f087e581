package side

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// result is the answer to a message.
type result struct {
	answer byte // a, r or e
	took   time.Duration
	err    error
}

// submit submits the messages of a file, and returns the seconds from the first call to the last answer.
// The error is the first one of a message.
func (s *session) submit(ctx context.Context, r Request) (seconds float64, err error) {
	if r.Callers < 1 {
		return 0, fmt.Errorf("callers is %d, not 1 or more", r.Callers)
	}
	messages, err := ReadWork(r.Work)
	if err != nil {
		return 0, err
	}
	turns := make([][]int, r.Callers)
	for i, m := range messages {
		caller := callerOf(m.User, r.Callers)
		turns[caller] = append(turns[caller], i)
	}
	results := make([]result, len(messages))
	began := time.Now()
	var calling sync.WaitGroup
	for _, turn := range turns {
		calling.Go(func() {
			for _, i := range turn {
				results[i] = s.submitOne(ctx, messages[i])
			}
		})
	}
	calling.Wait()
	seconds = time.Since(began).Seconds()
	return seconds, writeResults(r.Results, results)
}

func (s *session) submitOne(ctx context.Context, m Message) result {
	began := time.Now()
	accepted, err := s.product.Submit(ctx, m)
	r := result{answer: 'r', took: time.Since(began), err: err}
	switch {
	case err != nil:
		r.answer = 'e'
	case accepted:
		r.answer = 'a'
	}
	s.submitted.Add(1)
	return r
}

// callerOf spreads users over the callers.
func callerOf(user string, callers int) int {
	h := fnv.New32a()
	h.Write([]byte(user))
	return int(h.Sum32() % uint32(callers))
}

// ReadWork reads a file of messages.
func ReadWork(path string) ([]Message, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the messages: %w", err)
	}
	messages := make([]Message, 0, strings.Count(string(content), "\n"))
	for line := range strings.Lines(string(content)) {
		id, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
		user, at, _ := strings.Cut(rest, ",")
		ms, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d of the messages: send time: %w", len(messages)+1, err)
		}
		messages = append(messages, Message{ID: id, User: user, At: time.UnixMilli(ms).UTC()})
	}
	return messages, nil
}

// writeResults writes the answers to a file, and returns the first error of a message.
func writeResults(path string, results []result) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	buffered := bufio.NewWriter(file)
	var failed error
	for _, r := range results {
		fmt.Fprintf(buffered, "%c,%d\n", r.answer, r.took.Microseconds())
		if failed == nil && r.err != nil {
			failed = fmt.Errorf("submit a message: %w", r.err)
		}
	}
	if err := buffered.Flush(); err != nil {
		_ = file.Close()
		return fmt.Errorf("write the answers: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write the answers: %w", err)
	}
	return failed
}
