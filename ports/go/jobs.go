package slotlending

import (
	"cmp"
	"container/heap"
	"container/list"
	"slices"
)

// node is one job with known runs at or below it, or an inner node of the tree of jobs, or its root.
//
// Every node has the queue of the runs that wait at or below it, by arrival; the root's is the pool's queue. Every node
// but the root stands in its parent's line as long as its queue is not empty, under the key (held, place).
type node struct {
	name  string
	up    *node
	below map[string]*node
	runs  int // known runs of this very job
	held  int // pool slots charged to runs at or below, parked ones included
	queue *list.List
	line  line
	place int // under Served a number drawn on joining the line and on going to its end; under Oldest an arrival
	index int // where it is in its parent's line, or -1
}

func newNode(name string, up *node) *node {
	return &node{name: name, up: up, below: map[string]*node{}, queue: list.New(), index: -1}
}

func (n *node) path() Job {
	path := Job{}
	for ; n.up != nil; n = n.up {
		path = append(path, n.name)
	}
	slices.Reverse(path)
	return path
}

// line is a heap of the children of a node that have a run waiting at or below them, least (held, place) first.
type line []*node

func (l line) Len() int { return len(l) }

func (l line) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].held, l[j].held), cmp.Compare(l[i].place, l[j].place)) < 0
}

func (l line) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

func (l *line) Push(item any) {
	n := item.(*node)
	n.index = len(*l)
	*l = append(*l, n)
}

func (l *line) Pop() any {
	old := *l
	last := old[len(old)-1]
	*l = slices.Delete(old, len(old)-1, len(old))
	last.index = -1
	return last
}

// jobs is the tree of the jobs that have known runs, and R6: which waiter gets a freed pool slot. A call costs
// O(log n) for each node between leaf and root.
type jobs struct {
	order  Order
	root   *node
	places int // the last place drawn
}

func newJobs(order Order) *jobs { return &jobs{order: order, root: newNode("", nil)} }

// judge refuses a job that is empty, or above or below a job that has a known run (R2).
func (j *jobs) judge(path Job) error {
	n := j.root
	for _, name := range path {
		if n.runs > 0 {
			return refuse(JobNotLeaf, "job %q is below a job that has a run", path)
		}
		if n = n.below[name]; n == nil {
			return nil
		}
	}
	if len(path) == 0 {
		return refuse(JobNotLeaf, "a job is a path of at least one name")
	}
	if len(n.below) > 0 {
		return refuse(JobNotLeaf, "job %q is above a job that has a run", path)
	}
	return nil
}

// at is the node of this job, which was judged. It is made if it is not there.
func (j *jobs) at(path Job) *node {
	n := j.root
	for _, name := range path {
		below := n.below[name]
		if below == nil {
			below = newNode(name, n)
			n.below[name] = below
		}
		n = below
	}
	return n
}

// leave tells that a job has one known run fewer. A node without known runs is forgotten.
func (j *jobs) leave(n *node) {
	n.runs--
	for n.up != nil && n.runs == 0 && len(n.below) == 0 {
		delete(n.up.below, n.name)
		n = n.up
	}
}

// join tells that a run starts to wait.
func (j *jobs) join(r *run) {
	for n := r.job; n != nil; n = n.up {
		r.spots = append(r.spots, n.queue.PushBack(r))
		if n.queue.Len() == 1 {
			n.place = j.nextPlace()
			if j.order == Oldest {
				n.place = r.arrival
			}
		}
		j.settle(n)
	}
}

// quit tells that a run waits no longer; served, because it was granted a pool slot.
func (j *jobs) quit(r *run, served bool) {
	for n := r.job; n != nil; n = n.up {
		n.queue.Remove(r.spots[0])
		r.spots = r.spots[1:]
		if first := n.queue.Front(); first != nil {
			if j.order == Oldest {
				n.place = first.Value.(*run).arrival
			} else if served {
				n.place = j.nextPlace()
			}
		}
		j.settle(n)
	}
}

// pick is the waiter whom the next pool slot goes to, or nil (R6).
func (j *jobs) pick() *run {
	n := j.root
	for len(n.line) > 0 {
		n = n.line[0]
	}
	if first := n.queue.Front(); first != nil {
		return first.Value.(*run)
	}
	return nil
}

// charge tells that a job has taken so many pool slots more.
func (j *jobs) charge(n *node, slots int) {
	for ; n != nil; n = n.up {
		n.held += slots
		j.settle(n)
	}
}

// settle puts a node where it belongs in its parent's line after its key or its queue changed.
func (j *jobs) settle(n *node) {
	if n.up == nil || j.order == FIFO {
		return
	}
	switch waits := n.queue.Len() > 0; {
	case waits && n.index < 0:
		heap.Push(&n.up.line, n)
	case waits:
		heap.Fix(&n.up.line, n.index)
	case n.index >= 0:
		heap.Remove(&n.up.line, n.index)
	}
}

func (j *jobs) nextPlace() int {
	j.places++
	return j.places
}

// lines are the lines of the order Served, from this node down.
func (j *jobs) lines(n *node) []Line {
	lines := []Line{}
	if j.order != Served || len(n.line) == 0 {
		return lines
	}
	inLine := slices.SortedFunc(slices.Values(n.line), func(a, b *node) int { return cmp.Compare(a.place, b.place) })
	names := []string{}
	for _, below := range inLine {
		names = append(names, below.name)
	}
	lines = append(lines, Line{n.path(), names})
	for _, below := range inLine {
		lines = append(lines, j.lines(below)...)
	}
	return lines
}
