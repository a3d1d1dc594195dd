package slotlending_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"slotlending"
)

var in, under = slotlending.In, slotlending.Under

func newPool(t *testing.T, cap int, rules slotlending.Rules) *slotlending.Pool {
	t.Helper()
	pool, err := slotlending.New(cap, rules)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

// told is an answer in one line: "x:pool y:loan", "~z" for a run that was relent, "!code" for a refusal.
func told(answer slotlending.Answer, err error) string {
	var refusal *slotlending.Refusal
	if errors.As(err, &refusal) {
		return "!" + string(refusal.Code)
	}
	var words []string
	for _, grant := range answer.Granted {
		words = append(words, grant.Run+":"+string(grant.Token))
	}
	for _, run := range answer.Relent {
		words = append(words, "~"+run)
	}
	return strings.Join(words, " ")
}

// expect fails unless the call answered so.
func expect(t *testing.T, want string) func(slotlending.Answer, error) {
	t.Helper()
	return func(answer slotlending.Answer, err error) {
		t.Helper()
		if got := told(answer, err); got != want {
			t.Errorf("answered %q, not %q", got, want)
		}
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, not %+v", got, want)
	}
}

func TestR1CapIsAtLeastOne(t *testing.T) {
	_, err := slotlending.New(0, slotlending.Rules{})
	equal(t, told(slotlending.Answer{}, err), "!bad_cap")
	expect(t, "!bad_cap")(newPool(t, 1, slotlending.Rules{}).Resize(-1))
}

func TestR2ParentsSlotComesBeforePoolSlot(t *testing.T) {
	pool := newPool(t, 2, slotlending.Rules{})
	expect(t, "r:pool")(pool.Ask("r"))
	expect(t, "a:loan")(pool.Ask("a", under("r")))
	expect(t, "b:pool")(pool.Ask("b", under("r")))
	expect(t, "")(pool.Ask("c", under("r")))
	equal(t, pool.Snapshot().Waiting, []string{"c"})
	equal(t, pool.Snapshot().Children["r"], []string{"a", "b"})
}

func TestR2RefusalsComeInOrderAndChangeNothing(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	pool.Ask("r", in("app", "one"))
	pool.Ask("w")
	before := pool.Snapshot()
	expect(t, "!run_known")(pool.Ask("r", under("nobody"), in()))
	expect(t, "!parent_not_in_flight")(pool.Ask("x", under("nobody"), in()))
	expect(t, "!parent_not_in_flight")(pool.Ask("x", under("w")))
	for _, job := range [][]string{{}, {"app"}, {"app", "one", "more"}, {"w", "more"}} {
		expect(t, "!job_not_leaf")(pool.Ask("x", under("r"), in(job...)))
	}
	expect(t, "!job_not_leaf")(pool.Ask("app"))
	expect(t, "!not_admitted")(pool.Finish("w"))
	expect(t, "!not_known")(pool.Finish("x"))
	expect(t, "!not_known")(pool.Cancel("x"))
	equal(t, pool.Snapshot(), before)
}

func TestR2TryAskWaitsForNothing(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	expect(t, "r:pool")(pool.TryAsk("r"))
	before := pool.Snapshot()
	expect(t, "")(pool.TryAsk("x", in("a", "b")))
	equal(t, pool.Snapshot(), before)
	expect(t, "a:loan")(pool.TryAsk("a", under("r")))
}

func TestR3LenderIsParkedAndItsSlotComesBackUpTheChain(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	pool.Ask("r")
	pool.Ask("a", under("r"))
	pool.Ask("x", under("a"))
	pool.Ask("s")
	expect(t, "")(pool.Finish("r"))
	expect(t, "")(pool.Finish("a"))
	equal(t, pool.Snapshot().Runs["a"].Phase, slotlending.Parked)
	expect(t, "!not_known")(pool.Finish("a"))
	expect(t, "!not_known")(pool.Cancel("a"))
	expect(t, "!parent_not_in_flight")(pool.Ask("y", under("a")))
	expect(t, "s:pool")(pool.Finish("x"))
	equal(t, len(pool.Snapshot().Runs), 1)
}

func TestR3OrphansKeepLevelAndPlace(t *testing.T) {
	pool := newPool(t, 2, slotlending.Rules{})
	pool.Ask("r")
	for _, run := range []string{"a", "b", "c"} {
		pool.Ask(run, under("r"))
	}
	pool.Finish("r")
	runs := pool.Snapshot().Runs
	equal(t, *runs["a"].Parent, "r") // the borrower of its slot
	equal(t, runs["b"].Parent, (*string)(nil))
	equal(t, runs["b"].Level, 2)
	equal(t, runs["c"].Parent, (*string)(nil))
	expect(t, "c:pool")(pool.Finish("a"))
}

func TestR4LoanGoesToLongestWaitingChild(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	pool.Ask("r")
	pool.Ask("a", under("r"))
	pool.Ask("s")
	pool.Ask("b", under("r"))
	pool.Ask("c", under("r"))
	expect(t, "b:loan")(pool.Finish("a"))
	expect(t, "c:loan")(pool.Cancel("b"))
	expect(t, "")(pool.Cancel("c"))
	expect(t, "s:pool")(pool.Finish("r"))
}

func TestR5CancelledWaiterLeavesBothQueues(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	pool.Ask("r")
	for _, run := range []string{"a", "b", "c"} {
		pool.Ask(run, under("r"))
	}
	expect(t, "")(pool.Cancel("b"))
	expect(t, "c:loan")(pool.Finish("a"))
	expect(t, "")(pool.Ask("b", under("r"))) // forgotten, so it may be asked again
}

func TestR6Orders(t *testing.T) {
	for order, want := range map[slotlending.Order]string{
		slotlending.Served: "b0 b1 s1 b2 s2",
		slotlending.Oldest: "b0 b1 b2 s1 s2",
		slotlending.FIFO:   "b0 b1 b2 s1 s2",
	} {
		pool := newPool(t, 1, slotlending.Rules{Order: order})
		for _, run := range []string{"b0", "b1", "b2", "s1", "s2"} {
			pool.Ask(run, in(run[:1]))
		}
		served := []string{"b0"}
		for {
			answer, _ := pool.Finish(served[len(served)-1])
			if len(answer.Granted) == 0 {
				break
			}
			served = append(served, answer.Granted[0].Run)
		}
		equal(t, strings.Join(served, " "), want)
	}
}

func TestR6JobThatHoldsFewestGoesFirstAtEveryNode(t *testing.T) {
	pool := newPool(t, 2, slotlending.Rules{Order: slotlending.Oldest})
	pool.Ask("a", in("x", "1"))
	pool.Ask("b", in("x", "2"))
	pool.Ask("c", in("x", "1"))
	pool.Ask("d", in("y", "1"))
	pool.Ask("e", in("x", "3"))
	expect(t, "d:pool")(pool.Finish("a")) // x holds 1, y holds 0
	expect(t, "c:pool")(pool.Finish("b")) // below x nobody holds: the oldest
}

func TestR6ServedShowsItsLines(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	pool.Ask("a", in("x", "1"))
	pool.Ask("b", in("x", "2"))
	pool.Ask("c", in("y", "1"))
	pool.Ask("d", in("x", "1"))
	equal(t, pool.Snapshot().Lines, []slotlending.Line{
		{Node: slotlending.Job{}, Line: []string{"x", "y"}},
		{Node: slotlending.Job{"x"}, Line: []string{"2", "1"}},
		{Node: slotlending.Job{"y"}, Line: []string{"1"}},
	})
}

func TestR8RaisingServesAndLoweringRevokesNothing(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	for _, run := range []string{"a", "b", "c", "d"} {
		pool.Ask(run)
	}
	expect(t, "b:pool c:pool")(pool.Resize(3))
	expect(t, "")(pool.Resize(1))
	expect(t, "")(pool.Finish("a"))
	expect(t, "")(pool.Finish("b"))
	expect(t, "d:pool")(pool.Finish("c"))
}

func TestR13WaitingParentLendsToTheChildAdmittedFirst(t *testing.T) {
	pool := newPool(t, 2, slotlending.Rules{Relend: true})
	pool.Ask("r")
	pool.Ask("a", under("r"))
	pool.Ask("b", under("r"))
	pool.Ask("s")
	expect(t, "s:pool ~b")(pool.Finish("a"))
	equal(t, pool.Snapshot().Runs["b"].Token, slotlending.LoanToken)
}

func TestPoolWithoutRunsRemembersNothing(t *testing.T) {
	pool := newPool(t, 1, slotlending.Rules{})
	empty := pool.Snapshot()
	for round := range 3 {
		run := fmt.Sprint("run ", round)
		pool.Ask(run, in("deep", "er", run))
		pool.Finish(run)
	}
	equal(t, pool.Snapshot(), empty)
}

func Example() {
	pool, _ := slotlending.New(1, slotlending.Rules{})
	fmt.Println(pool.Ask("walk"))
	fmt.Println(pool.Ask("file", slotlending.Under("walk")))
	fmt.Println(pool.Ask("other"))
	fmt.Println(pool.Finish("file"))
	fmt.Println(pool.Finish("walk"))
	// Output:
	// {[{walk pool}] []} <nil>
	// {[{file loan}] []} <nil>
	// {[] []} <nil>
	// {[] []} <nil>
	// {[{other pool}] []} <nil>
}
