--------------------------------- MODULE Order ---------------------------------
(***************************************************************************)
(* R6: which waiter gets a freed pool slot.  The order and the tie-break   *)
(* are switches of the scenario.  First come, first served looks at the    *)
(* queue alone; fewest held first goes down the tree of jobs, at each node *)
(* to the child that has the least (held, place) among those with a run    *)
(* waiting at or below it; round-robin to the first in the line, whatever  *)
(* it holds.  Nodes are numbered, Root first; what each holds and the line *)
(* at each are kept from step to step, as a pool that is not to count anew *)
(* at every grant must keep them.                                          *)
(***************************************************************************)
EXTENDS Bodies

Root == 1
Nodes == DOMAIN scenario.jobs                     \* of the tree of jobs
JobAbove(n) == scenario.jobs[n]
JobsBelow(n) == {k \in Nodes : k # Root /\ JobAbove(k) = n}

RECURSIVE Way(_)               \* the nodes at or above one, the root aside
Way(n) == IF n = Root THEN {} ELSE {n} \cup Way(JobAbove(n))

Lies(r, n) == n \in Way(scenario.job[r])             \* at or below the node
Fair == scenario.order = "fewest_held"
Turns == scenario.order = "round_robin"
HasLines == Turns \/ (Fair /\ scenario.tie = "served")

-----------------------------------------------------------------------------
\* From the pool p to the next: fields waiting, taken, held and lines.
Without(seq, x) == SelectSeq(seq, LAMBDA y : y # x)

Charged(p, r) ==                             \* r has a pool slot from now on
  [p EXCEPT !.taken = @ + 1,
            !.held = [n \in Nodes |-> IF Lies(r, n) THEN @[n] + 1 ELSE @[n]]]

Uncharged(p, r) ==
  [p EXCEPT !.taken = @ - 1,
            !.held = [n \in Nodes |-> IF Lies(r, n) THEN @[n] - 1 ELSE @[n]]]

WaitsAt(p, n) == \E i \in DOMAIN p.waiting : Lies(p.waiting[i], n)

\* The lines at the nodes above r's job, when p is but for them what follows.
Lined(p, r, Line(_, _)) ==
  IF ~HasLines THEN p
  ELSE [p EXCEPT !.lines = [n \in Nodes |->
         LET own == JobsBelow(n) \cap Way(scenario.job[r])
         IN IF own = {} THEN @[n]
            ELSE LET k == CHOOSE k \in own : TRUE IN Line(@[n], k)]]

Wait(p, r) ==                          \* its job joins the line at the end
  LET Line(line, k) == IF WaitsAt(p, k) THEN line ELSE Append(line, k)
  IN Lined([p EXCEPT !.waiting = Append(@, r)], r, Line)

\* With a pool slot the job goes to the end of the line; loans move nobody.
Leave(p, r, token) ==
  LET q == [p EXCEPT !.waiting = Without(@, r)]
      Line(line, k) == IF ~WaitsAt(q, k) THEN Without(line, k)
                       ELSE IF token = "pool" THEN Append(Without(line, k), k)
                       ELSE line
  IN Lined(q, r, Line)

First(seq, Test(_)) == CHOOSE i \in DOMAIN seq :
                         Test(seq[i]) /\ \A j \in 1 .. i - 1 : ~Test(seq[j])

Place(p, n) ==
  LET IsIt(k) == k = n
      LiesThere(r) == Lies(r, n)
  IN IF HasLines THEN First(p.lines[JobAbove(n)], IsIt)
     ELSE First(p.waiting, LiesThere)

Rank(held, n) == IF Turns THEN 0 ELSE held[n]      \* what counts first

RECURSIVE PickBelow(_, _)
PickBelow(p, n) ==
  LET jobs == {k \in JobsBelow(n) : WaitsAt(p, k)}
      Before(k, m) ==
        \/ Rank(p.held, k) < Rank(p.held, m)
        \/ Rank(p.held, k) = Rank(p.held, m) /\ Place(p, k) <= Place(p, m)
      Mine(r) == scenario.job[r] = n
  IN IF jobs = {} THEN p.waiting[First(p.waiting, Mine)]
     ELSE PickBelow(p, CHOOSE k \in jobs : \A m \in jobs : Before(k, m))

Pick(p) ==
  IF Fair \/ Turns THEN PickBelow(p, Root) ELSE Head(p.waiting)
=============================================================================
