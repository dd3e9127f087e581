package ordinal

import "fmt"

// Key is a counted key. It must be a hash, so that keys are spread evenly.
type Key [16]byte

// Counter counts keys. It is not safe for concurrent use.
type Counter struct {
	bound  int
	folder string
	memory map[Key]uint32
	table  *table // used once memory is full
}

// NewCounter returns a counter that holds inMemory keys in memory, and more in a file in
// the folder, "" for that of temporary files. Close it.
func NewCounter(inMemory int, folder string) *Counter {
	return &Counter{bound: inMemory, folder: folder, memory: make(map[Key]uint32)}
}

// Next counts a key and returns its count: 1 for the first time. The error is one of the
// file, and then nothing is counted.
func (c *Counter) Next(key Key) (uint32, error) {
	if c.table != nil {
		return c.table.next(key)
	}
	if n, known := c.memory[key]; known || len(c.memory) < c.bound {
		c.memory[key] = n + 1
		return n + 1, nil
	}
	if err := c.spill(); err != nil {
		return 0, err
	}
	return c.table.next(key)
}

// spill moves all counts into a file.
func (c *Counter) spill() error {
	t, err := newTable(c.folder, 4*c.bound)
	if err != nil {
		return err
	}
	for key, n := range c.memory {
		if err := t.put(key, n); err != nil {
			_ = t.close() // the first error says more
			return err
		}
	}
	c.table, c.memory = t, nil
	return nil
}

// Close removes the file.
func (c *Counter) Close() error {
	if c.table == nil {
		return nil
	}
	if err := c.table.close(); err != nil {
		return fmt.Errorf("removing the table of lines: %w", err)
	}
	return nil
}
