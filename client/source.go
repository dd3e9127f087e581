package client

import (
	"iter"
	"sync"
)

// ahead is how many messages are taken from the caller before the stream has
// room for them.
const ahead = 64

// entry is a message of a batch, with its line.
type entry struct {
	message Message
	line    []byte
	wrong   error // it can't be spelled as JSON
}

// newEntry gives a message its id and spells it. One that can't be spelled goes
// as an empty object, which can only be refused, so that it keeps its place
// among the answers.
func newEntry(m Message) entry {
	m, err := m.withID()
	line := []byte("{}")
	if err == nil {
		if encoded, wrong := m.encode(); wrong == nil {
			line = encoded
		} else {
			err = wrong
		}
	}
	return entry{message: m, line: append(line, '\n'), wrong: err}
}

// source takes a batch's messages from the caller, whichever stream they then
// go into.
type source struct {
	entries chan entry // closed after the last
	stop    func()
	stopped <-chan struct{}
	running sync.WaitGroup
	unsent  []Message // taken when it was too late to hand it on
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

// end waits until no more is asked of the caller, and returns what was taken
// and went into no stream. It may be called again.
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
