package messagefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

// table is a hash table in a file whose name was removed, so that nothing is left however
// the program ends. A key is in the slot that its first bytes choose, or in a later one; a
// free slot is all zeros.
type table struct {
	folder string
	file   *os.File
	named  bool   // the system can't remove the name of an open file
	slots  uint64 // a power of two
	used   uint64
}

// A slot is a key and its count, little endian.
const slotSize = len(lineKey{}) + 4

type slot [slotSize]byte

func (s *slot) count() uint32           { return binary.LittleEndian.Uint32(s[len(lineKey{}):]) }
func (s *slot) setCount(n uint32)       { binary.LittleEndian.PutUint32(s[len(lineKey{}):], n) }
func (s *slot) key() lineKey            { return lineKey(s[:len(lineKey{})]) }
func (s *slot) set(k lineKey, n uint32) { copy(s[:], k[:]); s.setCount(n) }

// newTable returns a table with at least slots slots.
func newTable(folder string, slots int) (*table, error) {
	file, err := os.CreateTemp(folder, "sendlimit-*.lines")
	if err != nil {
		return nil, fmt.Errorf("making a table of lines: %w", err)
	}
	t := &table{folder: folder, file: file, slots: 1 << bits.Len(uint(max(slots, 1)-1))}
	t.named = os.Remove(file.Name()) != nil
	// What was never written reads as zeros.
	if err := file.Truncate(int64(t.slots) * int64(slotSize)); err != nil {
		return nil, errors.Join(fmt.Errorf("making a table of lines: %w", err), t.close())
	}
	return t, nil
}

// next counts a key and returns its count.
func (t *table) next(key lineKey) (uint32, error) {
	s, at, err := t.find(key)
	if err != nil {
		return 0, err
	}
	n := s.count() + 1
	if n == 1 && 2*(t.used+1) > t.slots {
		if err := t.grow(); err != nil {
			return 0, err
		}
		return t.next(key)
	}
	if err := t.write(at, key, n); err != nil {
		return 0, err
	}
	if n == 1 {
		t.used++
	}
	return n, nil
}

// put adds a new key with its count. The table must have room.
func (t *table) put(key lineKey, n uint32) error {
	_, at, err := t.find(key)
	if err != nil {
		return err
	}
	t.used++
	return t.write(at, key, n)
}

// find returns the slot of a key, or the free one where it belongs.
func (t *table) find(key lineKey) (slot, uint64, error) {
	for at := binary.LittleEndian.Uint64(key[:]); ; at++ {
		at &= t.slots - 1
		var s slot
		if _, err := t.file.ReadAt(s[:], offset(at)); err != nil {
			return s, 0, fmt.Errorf("reading the table of lines: %w", err)
		}
		if s.count() == 0 || s.key() == key {
			return s, at, nil
		}
	}
}

func (t *table) write(at uint64, key lineKey, n uint32) error {
	var s slot
	s.set(key, n)
	if _, err := t.file.WriteAt(s[:], offset(at)); err != nil {
		return fmt.Errorf("writing the table of lines: %w", err)
	}
	return nil
}

func offset(at uint64) int64 { return int64(at) * int64(slotSize) }

// grow moves everything to a file of four times the size.
func (t *table) grow() error {
	larger, err := newTable(t.folder, int(4*t.slots))
	if err != nil {
		return err
	}
	if err := t.copyTo(larger); err != nil {
		return errors.Join(err, larger.close())
	}
	err = t.close()
	*t = *larger
	return err
}

func (t *table) copyTo(larger *table) error {
	all := bufio.NewReaderSize(io.NewSectionReader(t.file, 0, offset(t.slots)), 1<<16)
	for {
		var s slot
		_, err := io.ReadFull(all, s[:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the table of lines: %w", err)
		}
		if s.count() == 0 {
			continue
		}
		if err := larger.put(s.key(), s.count()); err != nil {
			return err
		}
	}
}

func (t *table) close() error {
	err := t.file.Close()
	if t.named {
		err = errors.Join(err, os.Remove(t.file.Name()))
	}
	return err
}
