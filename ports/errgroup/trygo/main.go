// Command trygo walks a binary tree of goroutines with errgroup: every node starts its children with TryGo, and where the
// group is full it runs the child itself, on its own goroutine. So a node that waits for its children never waits for
// room, and every tree ends under every limit. It is a simple form of lending: the child has its parent's place, but only
// the parent's goroutine, and only if the group is full when the child starts.
package main

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

func main() {
	limit := flag.Int("limit", 2, "goroutines that the group lets run at once; the root runs outside it")
	depth := flag.Int("depth", 3, "levels below the root")
	flag.Parse()
	if *limit < 1 || *depth < 0 || *depth > 16 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "limit is at least 1, depth 0 to 16")
		os.Exit(64)
	}
	var group errgroup.Group
	group.SetLimit(*limit)
	var visited atomic.Int64
	walk(&group, *depth, &visited)
	fmt.Printf("finished: %d of %d nodes\n", visited.Load(), 1<<(*depth+1)-1)
}

// walk visits a node, starts its two children in the group or runs them itself, and waits for both.
func walk(group *errgroup.Group, depth int, visited *atomic.Int64) {
	visited.Add(1)
	if depth == 0 {
		return
	}
	ended := make(chan struct{}, 2) // room for both, since a child that runs inline ends before anybody receives
	for range 2 {
		child := func() error {
			walk(group, depth-1, visited)
			ended <- struct{}{}
			return nil
		}
		if !group.TryGo(child) { // the group is full
			_ = child() // never fails
		}
	}
	<-ended
	<-ended
}
