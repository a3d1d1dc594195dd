-------------------------------- MODULE Slots ---------------------------------
(***************************************************************************)
(* A pool of slots, and the runs of Bodies that ask for them: what all     *)
(* rules share.  What a parent does with its slot is left to the modules   *)
(* that extend this one, and who is served next to Order.  Each rule says  *)
(* what the pool is after a run has asked, finished or been cancelled; a   *)
(* step is one call of the pool, or a run resuming after a grant.          *)
(***************************************************************************)
EXTENDS Order

VARIABLES
  pool,       \* the pool's state: a record, see EmptyPool
  levels,     \* the greatest level asked so far; the pool does not know it
  resizes     \* how often the pool was resized

vars == <<scenario, progress, pool, levels, resizes>>

-----------------------------------------------------------------------------
EmptyPool(cap) ==
  [cap      |-> cap,
   taken    |-> 0,                             \* pool slots that are out
   phase    |-> [r \in Here |-> "unknown"],    \* waiting, in_flight, parked
   token    |-> [r \in Here |-> "none"],       \* pool, loan
   lent     |-> [r \in Here |-> FALSE],        \* is its slot out on loan?
   level    |-> [r \in Here |-> 0],
   parent   |-> [r \in Here |-> Nobody],       \* whose slot it may borrow
   waiting  |-> << >>,                         \* by arrival
   children |-> [r \in Here |-> << >>],        \* with a slot, by admission
   held     |-> [n \in Nodes |-> 0],           \* pool slots charged to a job
   lines    |-> [n \in Nodes |-> << >>]]       \* jobs below it, by place

PoolOK ==
  /\ pool.cap \in Nat \ {0} /\ pool.taken \in Nat
  /\ pool.phase \in [Here -> {"unknown", "waiting", "in_flight", "parked"}]
  /\ pool.token \in [Here -> {"none", "pool", "loan"}]
  /\ pool.lent \in [Here -> BOOLEAN]
  /\ pool.level \in [Here -> Nat]
  /\ pool.parent \in [Here -> Here \cup {Nobody}]
  /\ pool.waiting \in Seq(Here)
  /\ pool.children \in [Here -> Seq(Here)]
  /\ pool.held \in [Nodes -> Nat]
  /\ pool.lines \in [Nodes -> Seq(Nodes)]
  /\ levels \in Nat /\ resizes \in Nat

InFlight == {r \in Here : pool.phase[r] = "in_flight"}
Waiting  == {r \in Here : pool.phase[r] = "waiting"}
Parked   == {r \in Here : pool.phase[r] = "parked"}
Known    == Waiting \cup InFlight \cup Parked
Heads    == {r \in Here : pool.token[r] = "pool"}     \* have a pool slot
Holders  == {r \in Here : pool.token[r] # "none"}     \* have some slot
Unlent   == {r \in Holders : ~pool.lent[r]}           \* can be at work

-----------------------------------------------------------------------------
\* From the pool p to the next.
Enter(p, r, above) ==                          \* r becomes known
  [p EXCEPT !.phase[r] = "waiting",
            !.level[r] = IF above = Nobody THEN 1 ELSE p.level[above] + 1,
            !.parent[r] = above]

Admit(p, r, token) ==
  LET above == p.parent[r]
      q == [p EXCEPT !.phase[r] = "in_flight", !.token[r] = token]
  IN IF above = Nobody THEN q ELSE [q EXCEPT !.children[above] = Append(@, r)]

Take(p, r) == Admit(Charged(p, r), r, "pool")

RECURSIVE Serve(_)                             \* free slots go to waiters
Serve(p) ==
  IF p.waiting = << >> \/ p.taken >= p.cap THEN p
  ELSE LET next == Pick(p) IN Serve(Take(Leave(p, next, "pool"), next))

Return(p, r) == Serve(Uncharged(p, r))     \* the pool slot of r comes back

Orphan(p, r, keep) ==      \* r has ended: its children, one aside, lose it
  [p EXCEPT !.parent = [c \in Here |->
                          IF @[c] = r /\ c # keep THEN Nobody ELSE @[c]],
            !.children[r] = IF keep = Nobody THEN << >> ELSE <<keep>>]

Forget(p, r) ==
  LET above == p.parent[r]
      q == [p EXCEPT !.phase[r] = "unknown", !.token[r] = "none",
                     !.lent[r] = FALSE, !.level[r] = 0, !.parent[r] = Nobody,
                     !.children[r] = << >>]
  IN IF above = Nobody THEN q
     ELSE [q EXCEPT !.children[above] = Without(@, r)]

-----------------------------------------------------------------------------
\* The steps, up to what a rule makes of them.
Asks(r, p) ==
  /\ Moves(r, "asked")
  /\ pool' = p
  /\ levels' = IF p.level[r] > levels THEN p.level[r] ELSE levels
  /\ UNCHANGED resizes

Ends(r, p) ==
  /\ Moves(r, "ended")
  /\ pool' = p
  /\ UNCHANGED <<levels, resizes>>

MayResume(r) == progress[r] = "asked" /\ pool.phase[r] = "in_flight"

Resume(r) ==
  /\ r \in Here /\ MayResume(r)
  /\ Moves(r, "resumed")
  /\ UNCHANGED <<pool, levels, resizes>>

Resize(cap) ==                                                     \* R8
  /\ resizes < scenario.resizes /\ cap # pool.cap
  /\ pool' = Serve([pool EXCEPT !.cap = cap])
  /\ resizes' = resizes + 1
  /\ UNCHANGED <<scenario, progress, levels>>

Init ==
  /\ BodiesInit
  /\ pool = EmptyPool(scenario.cap)
  /\ levels = 0 /\ resizes = 0

-----------------------------------------------------------------------------
\* What every rule is asked, under the names of SEMANTICS, section 4.
UnlentWithinCap == Cardinality(Unlent) = pool.taken

InFlightWithinCapTimesLevels ==
  /\ Cardinality(InFlight) <= pool.taken * levels
  /\ resizes = 0 => pool.taken <= pool.cap

LevelWithinCap ==
  \A n \in 1 .. levels :
    Cardinality({r \in InFlight : pool.level[r] = n}) <= pool.taken

MaxInFlight == resizes = 0 => Cardinality(InFlight) <= scenario.most

NoSlotLeak ==
  /\ pool.taken = Cardinality(Heads)
  /\ Known = {} => pool.taken = 0

EndedHoldsNoSlot ==
  \A r \in Here :
    progress[r] \in {"idle", "ended"} => pool.phase[r] \in {"unknown", "parked"}

\* Acts of the environment do not count: a stuck tree can always be cancelled.
NoDeadlock ==
  Finished \/ \E r \in Here : MayAsk(r) \/ MayResume(r) \/ MayFinish(r)

CapRespected ==
  [][ Heads' \subseteq Heads \/ pool'.taken <= pool'.cap ]_vars

\* R6, said of a step: who got pool slots that waited for them.  First come,
\* first served: none got one past a run that has waited longer and waits on.
\* Else: all the way down, the first of them was of a job that holds less than
\* its siblings (in turn: whatever they hold), or as little and stands before.
Granted == Waiting \cap Heads'
Rightly(r) ==
  LET held == [n \in Nodes |-> Cardinality({x \in Heads' \ Granted : Lies(x, n)})]
      Holds(n) == Rank(held, n)
  IN /\ \A n \in Way(scenario.job[r]), k \in Nodes :
          k # n /\ k \in JobsBelow(JobAbove(n)) /\ WaitsAt(pool, k) =>
            \/ Holds(n) < Holds(k)
            \/ Holds(n) = Holds(k) /\ Place(pool, n) < Place(pool, k)
     /\ \A m, n \in DOMAIN pool.waiting :
          m < n /\ pool.waiting[n] = r =>
            scenario.job[pool.waiting[m]] # scenario.job[r]

FewestHeldFirst ==
  [][ IF Fair \/ Turns THEN Granted # {} => \E r \in Granted : Rightly(r)
      ELSE \A m, n \in DOMAIN pool.waiting :
             m < n /\ pool.waiting[n] \in Granted =>
               pool.waiting[m] \notin Waiting'
    ]_vars

AllFinish == <>[]Finished

SlotPool == INSTANCE SlotPool WITH cap <- pool.cap, holders <- Heads
RefinesSlotPool == SlotPool!Spec
=============================================================================
