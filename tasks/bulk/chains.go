package bulk

import (
	"container/heap"
	"sync"
)

// chains hands lines to workers: of each user one at a time, in the order of
// the file, and of those that could go next the one with the least time to
// spare.
//
// A user with many lines is what a file waits for in the end, since they go one
// after the other. While one of them is judged, the workers get through as many
// lines as there are workers, so that a chain of n lines has to begin n times
// that many lines earlier than its place says.
type chains struct {
	mu     sync.Mutex
	ready  sync.Cond // something can go, or nothing comes any more
	users  map[string]*chain
	idle   chainHeap // those of which no line is with a worker
	closed bool
}

// chain is the lines of a user that wait, in the order of the file.
type chain struct {
	user  string
	jobs  []*job
	index int // in the heap; -1 while a worker has one
}

func newChains(workers int) *chains {
	c := &chains{users: make(map[string]*chain)}
	c.idle.workers = workers
	c.ready.L = &c.mu
	return c
}

// add puts a line behind the others of its user.
func (c *chains) add(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	user := j.line.Message.User
	of, known := c.users[user]
	if !known {
		of = &chain{user: user, jobs: []*job{j}}
		c.users[user] = of
		heap.Push(&c.idle, of)
		c.ready.Signal()
		return
	}
	of.jobs = append(of.jobs, j)
	if of.index >= 0 {
		heap.Fix(&c.idle, of.index)
	}
}

// take returns a line to judge, and the chain to give back after that; ok is
// false when there is none and none comes any more.
func (c *chains) take() (of *chain, j *job, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.idle.chains) == 0 {
		if c.closed {
			return nil, nil, false
		}
		c.ready.Wait()
	}
	of, _ = heap.Pop(&c.idle).(*chain)
	j, of.jobs = of.jobs[0], of.jobs[1:]
	return of, j, true
}

// giveBack lets the next line of a chain go.
func (c *chains) giveBack(of *chain) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(of.jobs) == 0 {
		delete(c.users, of.user)
		return
	}
	heap.Push(&c.idle, of)
	c.ready.Signal()
}

// close says that no line comes any more.
func (c *chains) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.ready.Broadcast()
}

// chainHeap implements heap.Interface, the least time to spare first.
type chainHeap struct {
	chains  []*chain
	workers int
}

func (h *chainHeap) spare(i int) int {
	of := h.chains[i]
	return of.jobs[0].place - h.workers*len(of.jobs)
}

// Len implements sort.Interface.
func (h *chainHeap) Len() int { return len(h.chains) }

// Less implements sort.Interface.
func (h *chainHeap) Less(i, j int) bool { return h.spare(i) < h.spare(j) }

// Swap implements sort.Interface.
func (h *chainHeap) Swap(i, j int) {
	h.chains[i], h.chains[j] = h.chains[j], h.chains[i]
	h.chains[i].index, h.chains[j].index = i, j
}

// Push implements heap.Interface.
func (h *chainHeap) Push(x any) {
	of, _ := x.(*chain)
	of.index = len(h.chains)
	h.chains = append(h.chains, of)
}

// Pop implements heap.Interface.
func (h *chainHeap) Pop() any {
	last := len(h.chains) - 1
	of := h.chains[last]
	of.index = -1
	h.chains[last] = nil
	h.chains = h.chains[:last]
	return of
}
