package client

import (
	"iter"
	"sync"
)

// ahead is how many messages are read from the caller before the stream has room.
const ahead = 64

// entry is a message of a batch, with its line.
type entry struct {
	message Message
	line    []byte
	wrong   error // the message can't be encoded
}

// newEntry encodes a message with an id. If that fails, it sends an empty object, which the API
// refuses, so that the message keeps its place among the answers.
func newEntry(m Message) entry {
	m, err := m.withID()
	var line []byte
	if err == nil {
		line, err = m.encode()
	}
	if err != nil {
		line = []byte("{}")
	}
	return entry{message: m, line: append(line, '\n'), wrong: err}
}

// source reads the messages of a batch from the caller, for all its streams.
type source struct {
	entries chan entry // closed after the last
	stop    func()
	stopped <-chan struct{}
	running sync.WaitGroup
	unsent  []Message // read too late to be sent
}

func startSource(messages iter.Seq[Message]) *source {
	stopped := make(chan struct{})
	s := &source{entries: make(chan entry, ahead), stopped: stopped, stop: sync.OnceFunc(func() { close(stopped) })}
	s.running.Go(func() {
		defer close(s.entries)
		for m := range messages {
			e := newEntry(m)
			select {
			case s.entries <- e:
			case <-s.stopped:
				s.unsent = append(s.unsent, e.message)
				return
			}
		}
	})
	return s
}

// end stops reading, waits until it has stopped, and returns the messages that were read and not
// sent. It may be called repeatedly.
func (s *source) end() []Message {
	s.stop()
	var unsent []Message
	for e := range s.entries {
		unsent = append(unsent, e.message)
	}
	s.running.Wait()
	unsent = append(unsent, s.unsent...)
	s.unsent = nil
	return unsent
}
