---------------------------- MODULE MCBuildPermit -----------------------------
(***************************************************************************)
(* Models of BuildPermit: trees of MCTrees, and of each run its component  *)
(* (0 for none) and its key (0 for none).                                  *)
(***************************************************************************)
EXTENDS PermitInvariants, MCTrees

WithFail == [Plain EXCEPT !.fail = TRUE]
WithEverything == [WithAll EXCEPT !.fail = TRUE]

Two == <<0, 0>>
NoKeys(component)   == [r \in DOMAIN component |-> 0]
SameKeys(component) ==
  [r \in DOMAIN component |-> IF component[r] = 0 THEN 0 ELSE 1]

Built(parent, component, key, cap, relend, acts) ==
  [Scenario(parent, cap, relend, acts) EXCEPT !.component = component, !.key = key]

\* Of cases (a tree, of each run its component) all variants, keyed or not.
Keyed(cases, caps, relend, acts) ==
  UNION {{Built(c[1], c[2], key, cap, on, acts) :
            key \in {NoKeys(c[2]), SameKeys(c[2])}, cap \in caps, on \in relend} :
         c \in cases}

Overlap    == <<Two, <<1, 1>>>>                \* two updates of one component
Overlaps   == <<ThreeRoots, <<1, 1, 1>>>>
Changed    == {Built(Two, <<1, 1>>, <<1, 2>>, 1, FALSE, WithEverything),
                Built(ThreeRoots, <<1, 1, 1>>, <<1, 2, 1>>, 2, FALSE, Plain)}
Siblings   == <<Pair, <<0, 1, 1>>>>
Shared     == <<TwoChains, <<2, 1, 3, 1>>>>    \* mounted by two components
SharedPlain == <<TwoChains, <<0, 1, 0, 1>>>>   \* by two runs of none
BuiltFork == <<Fork, <<1, 2, 3, 2>>>>
BesideIt  == <<<<0, 1, 0>>, <<0, 1, 1>>>>     \* one of them below another run
Below      == <<Chain3, <<1, 2, 1>>>>          \* a component below itself
Below2     == <<Chain2, <<1, 1>>>>
Circle     == <<TwoChains, <<1, 2, 2, 1>>>>    \* two that mount each other

MCScenarios ==
  Keyed({Overlap, Siblings}, {1, 2}, {FALSE}, WithEverything)
    \cup Keyed({Shared, Overlaps}, {1, 2}, {FALSE}, Plain)
    \cup Keyed({Below2}, {1}, {FALSE}, WithEarly) \cup Changed
    \cup Keyed({Circle}, {1}, {FALSE}, Plain)

\* Bigger ones.
MCPlainScenarios ==
  Keyed({Overlaps, Siblings, Shared, SharedPlain, BuiltFork, BesideIt, Below},
        {1, 2}, BOOLEAN, Plain)
MCCancelScenarios ==
  Keyed({Shared, BesideIt, Overlaps, Below}, {1, 2}, BOOLEAN, WithCancel)
MCEarlyScenarios ==
  Keyed({Shared, Siblings, BesideIt, Below}, {1, 2}, BOOLEAN, WithEarly)
MCFailScenarios ==
  Keyed({Shared, Overlaps, BuiltFork}, {1, 2}, BOOLEAN, WithFail)
MCResizeScenarios ==
  Keyed({Overlaps, SharedPlain}, {1, 2}, BOOLEAN, Resized(1, Plain))
MCEverythingScenarios ==
  Keyed({BesideIt, Below}, {1, 2}, BOOLEAN, WithEverything)

MCLivenessScenarios ==
  Keyed({Overlap, BesideIt, SharedPlain}, {1, 2}, {FALSE}, Plain)
    \cup Keyed({Overlap}, {1, 2}, {FALSE}, WithEverything)

\* Small ones, each to reach one thing.
MCCircleScenarios    == Keyed({Circle}, {2}, {FALSE}, Plain)
MCCircleAtOneScenarios == Keyed({Circle}, {1}, BOOLEAN, Plain)
MCBesideItScenarios  == Keyed({BesideIt}, {1}, {FALSE}, Plain)
MCWitnessScenarios   ==
  Keyed({Overlap, Overlaps, BesideIt, Below2}, {1, 2}, {FALSE}, WithCancel)
MCSharedScenarios    == Keyed({Overlaps, SharedPlain}, {2, 3}, {FALSE}, Plain)

-----------------------------------------------------------------------------
\* Witnesses: each of these must be violated.
NeverAnswered ==
  [][ \A r \in Here : ~(Handed(r) /\ Answers(r) /\ progress'[r] = "ended") ]_vars
NeverDropsAndAsks ==
  [][ \A r \in Here : ~(Handed(r) /\ progress'[r] = "asked"
        /\ pool.phase[r] = "unknown" /\ pool'.phase[r] # "unknown") ]_vars
NeverABodyUnderItsPermit ==
  [][ \A r \in Here : ~(Handed(r) /\ progress'[r] = "resumed") ]_vars
NeverAPermitCancelled ==       \* before its run resumes
  [][ \A r \in Here : ~(Handed(r) /\ ~Answers(r) /\ progress'[r] = "ended") ]_vars
NeverRefused ==
  [][ \A r \in Here : ~(progress[r] = "idle" /\ progress'[r] = "ended") ]_vars
Queued(r) == \E c \in Components, i \in 1 .. Cardinality(Here) :
               i \in DOMAIN permits.queue[c] /\ permits.queue[c][i] = r
NeverBehindAHolder == \A r \in Here : ~Queued(r)
NeverHandedOn ==
  [][ \A r \in Here : ~(Queued(r) /\ permits'.holder[Component(r)] = r) ]_vars
NeverAQueuedRunCancelled ==
  [][ \A r \in Here : ~(Queued(r) /\ progress'[r] = "ended") ]_vars
NeverTwoInAQueue == \A c \in Components : Len(permits.queue[c]) < 2
NeverAMemoCleared ==
  [][ \A c \in Components :
        permits.memo[c] # None => permits'.memo[c] # None ]_vars
NeverBesideAFreeSlot ==        \* it enters beside another one, and takes no slot
  [][ \A r \in Here : ~(progress[r] = "idle" /\ progress'[r] = "asked"
        /\ pool'.phase[r] = "unknown" /\ pool'.taken < pool'.cap) ]_vars
NeverASlotSits == Sitting = {}
NeverAllButOneSit ==           \* as many slots as there are but one
  ~(pool.cap > 1 /\ Cardinality(Sitting) = pool.cap - 1)
=============================================================================
