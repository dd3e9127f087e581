package bulk

import (
	"errors"
	"hash/maphash"
	"io"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// fanOut is how many groups a split makes, and so how many files are open at once.
const fanOut = 64

// group has all the lines of some users, in order, in a file.
type group struct {
	lines *spool[Line]
	user  string // of the first line
	mixed bool   // there are others
}

func newGroups(folder string) []*group {
	groups := make([]*group, fanOut)
	for i := range groups {
		groups[i] = &group{lines: &spool[Line]{folder: folder}}
	}
	return groups
}

func (g *group) add(line *Line) error {
	if g.lines.count == 0 {
		g.user = line.Message.User
	}
	g.mixed = g.mixed || line.Message.User != g.user
	return g.lines.add(line)
}

// groupOf returns the group of a user in the first split, by partition: so a
// group's traces are in few partitions of the store.
func groupOf(user string) int { return keyspace.Partition(user) * fanOut / keyspace.Partitions }

// split splits the lines of a group by users, and empties it.
func (g *group) split() ([]*group, error) {
	parts := newGroups(g.lines.folder)
	seed := maphash.MakeSeed() // with an old one the same users would stay together
	for {
		line, err := g.lines.next()
		if errors.Is(err, io.EOF) {
			return parts, g.lines.close()
		}
		if err == nil {
			err = parts[maphash.String(seed, line.Message.User)%fanOut].add(&line)
		}
		if err != nil {
			return nil, errors.Join(err, closeGroups(parts))
		}
	}
}

// batches joins neighbouring groups up to bound lines. It leaves out empty groups.
func batches(groups []*group, bound int) [][]*group {
	var all [][]*group
	lines := 0
	for _, g := range groups {
		n := g.lines.count
		if n == 0 {
			continue
		}
		if lines += n; len(all) == 0 || lines > bound {
			all, lines = append(all, nil), n
		}
		last := len(all) - 1
		all[last] = append(all[last], g)
	}
	return all
}

func closeGroups(groups []*group) error {
	var err error
	for _, g := range groups {
		err = errors.Join(err, g.lines.close())
	}
	return err
}
