----------------------------- MODULE FairAdmission -----------------------------
(***************************************************************************)
(* Lending that is fair to jobs: what SlotLending keeps when the scenario  *)
(* asks for fewest held first (Order) over a tree of jobs.  With first     *)
(* come, first served these are the very states of SlotLending; under      *)
(* every order it refines SlotPool, which leaves open who gets a slot that *)
(* came back.                                                              *)
(***************************************************************************)
EXTENDS SlotLending

Siblings(n, k) == n # k /\ n # Root /\ k \in JobsBelow(JobAbove(n))
HeldBy(n) == {r \in Heads : Lies(r, n)}      \* by definition, parked ones too
Hungry(n) == WaitsAt(pool, n) /\ HeldBy(n) = {}  \* waits and holds nothing

Ahead(p, k, n) ==           \* k stands before n in the line of their node
  LET line == p.lines[JobAbove(n)]
  IN \E i, j \in DOMAIN line : i < j /\ line[i] = k /\ line[j] = n

HeldMatches == \A n \in Nodes : pool.held[n] = Cardinality(HeldBy(n))

\* In the line of a node stand, once each, the children with a waiting run.
LinesMatch ==
  \A n \in Nodes :
    LET line == pool.lines[n]
        those == {k \in JobsBelow(n) : WaitsAt(pool, k)}
    IN /\ Len(line) = Cardinality({line[i] : i \in DOMAIN line})
       /\ {line[i] : i \in DOMAIN line} = IF HasLines THEN those ELSE {}

\* A job that waits and holds nothing (in turn: whatever it holds) is overtaken
\* at most once by each sibling before it in the line: who is served was before
\* it, and is behind it then; and nobody comes to stand before it who did not.
Patient(n) == IF Turns THEN WaitsAt(pool, n) ELSE Hungry(n)
OvertakenOnce ==
  [][ HasLines => \A n, k \in Nodes :
        Siblings(n, k) /\ Patient(n) /\ Patient(n)'
          /\ (\A r \in Granted : ~Lies(r, n)) =>
          LET got == {r \in Granted : Lies(r, k)}
          IN /\ got # {} => /\ Cardinality(got) = 1
                            /\ Ahead(pool, k, n) /\ ~Ahead(pool', k, n)
             /\ Ahead(pool', k, n) => Ahead(pool, k, n) ]_vars

\* With the tie-break oldest: only by runs that have waited longer.
OvertakenByOlder ==
  [][ Fair /\ ~HasLines => \A n, k \in Nodes :
        Siblings(n, k) /\ Hungry(n) /\ Hungry(n)' =>
          \A i, j \in DOMAIN pool.waiting :
            /\ pool.waiting[i] \in Granted /\ Lies(pool.waiting[i], k)
            /\ Lies(pool.waiting[j], n)
            => i < j ]_vars

\* Not promised.  A job that holds something waits behind those that hold
\* less, also behind one that was served only now; and an order other than
\* first come, first served does not refine it.
NeverPastAHolder ==
  [][ \A n, k \in Nodes :
        Siblings(n, k) /\ WaitsAt(pool, n) /\ ~Hungry(n) /\ ~Hungry(n)'
          /\ (\E r \in Granted : Lies(r, k)) => ~Ahead(pool, n, k) ]_vars
FirstCome ==
  [][ \A m, n \in DOMAIN pool.waiting :
        m < n /\ pool.waiting[n] \in Granted => pool.waiting[m] \notin Waiting'
    ]_vars

THEOREM Spec => []HeldMatches /\ FewestHeldFirst /\ RefinesSlotPool
THEOREM Spec => OvertakenOnce /\ OvertakenByOlder
\* Not a theorem: Spec => FirstCome
=============================================================================
