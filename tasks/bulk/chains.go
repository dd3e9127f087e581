package bulk

import (
	"container/heap"
	"sync"
)

// chains gives lines to workers: each user's lines one at a time and in order. Of the
// possible next lines it chooses the one with the least time to spare: while one line of a user is
// judged, w workers judge w lines. So a chain of n lines has to start n*w
// lines before its place in the file.
type chains struct {
	mu     sync.Mutex
	ready  sync.Cond // a line can be taken, or no more lines come
	users  map[string]*chain
	idle   chainHeap // chains without a worker
	closed bool
}

// chain has the waiting lines of a user, in order.
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

// take waits for lines to judge, and returns at most a number of lines of a chain, which the caller
// gives back. Several lines are all valid. ok is false when there are no more.
func (c *chains) take(most int) (of *chain, jobs []*job, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.idle.chains) == 0 {
		if c.closed {
			return nil, nil, false
		}
		c.ready.Wait()
	}
	of, _ = heap.Pop(&c.idle).(*chain)
	n := 1
	for of.jobs[0].line.Invalid == nil && n < min(most, len(of.jobs)) && of.jobs[n].line.Invalid == nil {
		n++
	}
	jobs, of.jobs = of.jobs[:n:n], of.jobs[n:]
	return of, jobs, true
}

// giveBack makes the next line of a chain available.
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

// close ends the chains after their last lines.
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
