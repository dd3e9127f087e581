package bulk

import (
	"errors"
	"hash/maphash"
	"io"

	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// fanOut is into how many groups lines are told apart at a time: as many files
// are open together.
const fanOut = 64

// group is lines that were set aside: all those of its users, in their order.
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

// groupOf is the group of a user when lines are told apart first: by partition,
// so that what is kept of a group in the store is in few of them.
func groupOf(user string) int { return keyspace.Partition(user) * fanOut / keyspace.Partitions }

// split tells the lines of a group apart by their users, and empties it.
func (g *group) split() ([]*group, error) {
	parts := newGroups(g.lines.folder)
	seed := maphash.MakeSeed() // another one each time, or users who are together would stay so
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

// batches puts neighbours together as long as they have no more lines than
// bound, and leaves out those without any.
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
