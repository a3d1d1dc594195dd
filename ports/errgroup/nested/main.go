// Command nested walks a binary tree of goroutines with errgroup: every node starts its children with Go, in the one
// group that bounds them all, and waits for them. Where the nodes that wait fill the limit, no child can start any more.
//
// Nothing here sleeps, watches or times out: what is stuck is told by the Go runtime, which ends a program whose
// goroutines are all asleep with exit status 2, a "deadlock" and the stack of every goroutine.
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

// walk visits a node, starts its two children in the group, and waits for both.
func walk(group *errgroup.Group, depth int, visited *atomic.Int64) {
	visited.Add(1)
	if depth == 0 {
		return
	}
	ended := make(chan struct{}, 2) // room for both, so that a child ends whether or not its parent has got to waiting
	for range 2 {
		group.Go(func() error { // waits until fewer than the limit run
			walk(group, depth-1, visited)
			ended <- struct{}{}
			return nil
		})
	}
	<-ended
	<-ended
}
