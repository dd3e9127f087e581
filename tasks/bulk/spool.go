package bulk

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool is a temporary file of values. All are written before the first is read. If possible the file
// has no name, so that nothing is left if the program is killed.
// Only the program's user can read it.
type spool[T any] struct {
	folder string
	file   *os.File // nil before the first value
	named  bool     // the system can't remove the name of an open file
	count  int      // of values

	out     *bufio.Writer
	encoder *gob.Encoder
	in      *gob.Decoder // nil while values are written
	read    int
}

// spoolBuffer is small, since there are many spools at a time.
const spoolBuffer = 16 << 10

// add appends a value.
func (s *spool[T]) add(value *T) error {
	if s.file == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	if err := s.encoder.Encode(value); err != nil {
		return fmt.Errorf("writing lines to a temporary file: %w", err)
	}
	s.count++
	return nil
}

func (s *spool[T]) create() error {
	file, err := os.CreateTemp(s.folder, "bulk-*.lines")
	if err != nil {
		return fmt.Errorf("creating a temporary file for lines: %w", err)
	}
	s.file, s.named = file, os.Remove(file.Name()) != nil
	s.out = bufio.NewWriterSize(file, spoolBuffer)
	s.encoder = gob.NewEncoder(s.out)
	return nil
}

// next reads the next value. The error is io.EOF after the last one.
func (s *spool[T]) next() (value T, err error) {
	if s.read == s.count {
		return value, io.EOF
	}
	if s.in == nil {
		if err := s.rewind(); err != nil {
			return value, err
		}
	}
	if err := s.in.Decode(&value); err != nil {
		return value, fmt.Errorf("reading lines from a temporary file: %w", err)
	}
	s.read++
	return value, nil
}

func (s *spool[T]) rewind() error {
	err := s.out.Flush()
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("writing lines to a temporary file: %w", err)
	}
	s.out, s.encoder = nil, nil
	s.in = gob.NewDecoder(bufio.NewReaderSize(s.file, spoolBuffer))
	return nil
}

// close removes the file. Closing again does nothing.
func (s *spool[T]) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	s.file, s.out, s.encoder, s.in, s.read = nil, nil, nil, nil, s.count
	if err != nil {
		return fmt.Errorf("removing a temporary file: %w", err)
	}
	return nil
}

// merged reads several sorted spools as one, in the order of line numbers.
type merged[T any] struct {
	spools []*spool[T]
	line   func(*T) int
	heads  []T   // the next value of each spool
	have   []int // the spools with a head
	begun  bool
}

func merge[T any](spools []*spool[T], line func(*T) int) *merged[T] {
	return &merged[T]{spools: spools, line: line, heads: make([]T, len(spools))}
}

// next reads the next value. The error is io.EOF after the last one.
func (m *merged[T]) next() (T, error) {
	var none T
	if !m.begun {
		m.begun = true
		for i := range m.spools {
			m.have = append(m.have, i)
			if err := m.advance(len(m.have) - 1); err != nil {
				return none, err
			}
		}
	}
	if len(m.have) == 0 {
		return none, io.EOF
	}
	first := 0
	for i := range m.have {
		if m.line(&m.heads[m.have[i]]) < m.line(&m.heads[m.have[first]]) {
			first = i
		}
	}
	value := m.heads[m.have[first]]
	return value, m.advance(first)
}

// advance reads the next head of a spool.
func (m *merged[T]) advance(i int) error {
	at := m.have[i]
	value, err := m.spools[at].next()
	m.heads[at] = value
	if errors.Is(err, io.EOF) {
		m.have = append(m.have[:i], m.have[i+1:]...)
		return nil
	}
	return err
}
