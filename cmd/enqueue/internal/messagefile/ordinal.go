package messagefile

import "fmt"

// lineKey is a counted key. It must be a hash, so that keys are spread evenly.
type lineKey [16]byte

// ordinals counts keys. It is not safe for concurrent use.
type ordinals struct {
	bound  int
	folder string
	memory map[lineKey]uint32
	table  *table // used once memory is full
}

// newOrdinals returns a counter that holds inMemory keys in memory, and more in a file in
// the folder, "" for that of temporary files. Close it.
func newOrdinals(inMemory int, folder string) *ordinals {
	return &ordinals{bound: inMemory, folder: folder, memory: make(map[lineKey]uint32)}
}

// Next counts a key and returns its count: 1 for the first time. The error is one of the
// file, and then nothing is counted.
func (c *ordinals) Next(key lineKey) (uint32, error) {
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
func (c *ordinals) spill() error {
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
func (c *ordinals) Close() error {
	if c.table == nil {
		return nil
	}
	if err := c.table.close(); err != nil {
		return fmt.Errorf("removing the table of lines: %w", err)
	}
	return nil
}
