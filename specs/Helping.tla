-------------------------------- MODULE Helping --------------------------------
(***************************************************************************)
(* Helping: a worker that waits for the children of the run on top of its  *)
(* stack takes up other queued work, which lands on top of it.  Only the   *)
(* top of a stack can go on.  Ends as long as runs wait only for runs of   *)
(* the pool; at most cap runs are at work; but nothing bounds the stacks.  *)
(***************************************************************************)
EXTENDS Bodies

VARIABLES
  stack,     \* of each worker: the runs it has begun, the last on top
  queue,     \* runs that have asked, by arrival
  levels     \* the greatest level asked so far

vars == <<scenario, progress, stack, queue, levels>>

Workers == 1 .. scenario.cap
Top(w) == stack[w][Len(stack[w])]
OnTop(r) == \E w \in Workers : stack[w] # << >> /\ Top(w) = r
InFlight == {r \in Here : progress[r] = "resumed"}

RECURSIVE Level(_)
Level(r) == IF Above(r) = Nobody THEN 1 ELSE Level(Above(r)) + 1

Asked(r) == \A c \in Children(r) : progress[c] # "idle"
Waits(w) ==
  IF stack[w] = << >> THEN TRUE ELSE Asked(Top(w)) /\ ~Through(Top(w))

TypeOK ==
  /\ BodiesOK
  /\ stack \in [Workers -> Seq(Here)]
  /\ queue \in Seq(Here)
  /\ levels \in Nat

Init ==
  /\ BodiesInit
  /\ stack = [w \in Workers |-> << >>]
  /\ queue = << >>
  /\ levels = 0

MayStep(r) == r # Nobody => OnTop(r)       \* roots ask by themselves

Ask(r) ==
  /\ r \in Here /\ MayAsk(r) /\ MayStep(Above(r))
  /\ Moves(r, "asked")
  /\ queue' = Append(queue, r)
  /\ levels' = IF Level(r) > levels THEN Level(r) ELSE levels
  /\ UNCHANGED stack

Resume(r) ==                               \* some worker takes it up
  /\ queue # << >> /\ r = Head(queue)
  /\ \E w \in Workers :
       /\ Waits(w)
       /\ stack' = [stack EXCEPT ![w] = Append(@, r)]
  /\ queue' = Tail(queue)
  /\ Moves(r, "resumed")
  /\ UNCHANGED levels

Finish(r) ==
  /\ r \in Here /\ MayFinish(r) /\ MayStep(r)
  /\ Moves(r, "ended")
  /\ stack' = [w \in Workers |-> SelectSeq(stack[w], LAMBDA x : x # r)]
  /\ UNCHANGED <<queue, levels>>

Next == \E r \in Runs : Ask(r) \/ Resume(r) \/ Finish(r)
Spec == Init /\ [][Next]_vars

NoDeadlock ==
  \/ Finished
  \/ queue # << >> /\ \E w \in Workers : Waits(w)
  \/ \E r \in Here : MayAsk(r) /\ MayStep(Above(r))
  \/ \E r \in Here : MayFinish(r) /\ MayStep(r)

ExecutingWithinCap == Cardinality({r \in Here : OnTop(r)}) <= scenario.cap

InFlightWithinCapTimesLevels ==
  Cardinality(InFlight) <= scenario.cap * levels

THEOREM Spec => [](TypeOK /\ ExecutingWithinCap /\ NoDeadlock)
\* Not a theorem: Spec => []InFlightWithinCapTimesLevels
=============================================================================
