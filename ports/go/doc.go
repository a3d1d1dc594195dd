// Package slotlending lets a tree of tasks share one pool of slots without deadlock and without losing its bound.
//
// A plain semaphore makes a tree of tasks hang: parents hold every slot while they wait for children that need one.
// Giving the slot back before waiting loses the bound. Lending keeps both: a parent keeps its slot and lends it to one
// child at a time.
//
// A [Pool] is a state machine without clock, goroutine or lock. A call is one step, and its [Answer] says who got a
// slot: the caller wakes those. Share it between goroutines behind one mutex. Run ids and names of jobs are strings.
package slotlending
