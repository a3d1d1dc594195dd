----------------------------- MODULE MCSlotLending -----------------------------
\* Models of SlotLending, each a set of scenarios.  See MCTrees.
EXTENDS SlotLending, MCTrees

\* The default: every kind of tree and every act, small enough for seconds.
\* With one slot that stays one there is nothing to relend, so there only with
\* relend off; the trees that take long each with one cap.
OneOrTwo(trees, acts) ==
  Family(trees, {1}, {FALSE}, acts) \cup Family(trees, {2}, BOOLEAN, acts)
MCScenarios ==
  OneOrTwo({Chain4}, Plain) \cup Family({Comb6}, {2}, BOOLEAN, Plain)
    \cup Family({Binary7}, {2}, {TRUE}, Plain)
    \cup Family({TwoPairs, ThreeChains}, {2}, {FALSE}, Plain)
    \cup Family({Star4}, {1}, {FALSE}, Plain)
    \cup OneOrTwo({Chain3, Fork, TwoChains}, WithCancel)
    \cup OneOrTwo({Chain3, Fork}, WithEarly) \cup OneOrTwo({Pair}, WithAll)
    \cup Family({Pair}, {1}, BOOLEAN, Resized(2, Plain))

\* Bigger ones.
MCPlainScenarios ==
  Family({Star4, Comb6, Binary7, TwoPairs, ThreeChains}, MCCaps, BOOLEAN, Plain)
MCCancelScenarios ==
  Family({Chain4, Star4, Comb6, TwoPairs, ThreeChains}, MCCaps, BOOLEAN, WithCancel)
MCCancelBinaryScenarios == Family({Binary7}, MCCaps, BOOLEAN, WithCancel)
MCEarlyScenarios ==
  Family({Chain4, Fork, Comb6, ThreeChains}, MCCaps, BOOLEAN, WithEarly)
MCEarlyWideScenarios == Family({Star4, TwoPairs}, MCCaps, BOOLEAN, WithEarly)
MCResizeScenarios ==
  Family({Chain4, Fork, Comb6, ThreeRoots5}, {1, 3}, BOOLEAN, Resized(2, Plain))
MCAllScenarios ==
  Family({Chain4, Fork, Pair}, MCCaps, BOOLEAN, Resized(1, WithAll))
    \cup Family({Star4}, {1, 2}, BOOLEAN, WithAll)

\* Small ones: for liveness, and to reach each witness.
MCLivenessScenarios ==
  OneOrTwo({Chain3, Fork, TwoChains}, Plain)
    \cup OneOrTwo({Chain2, Pair}, WithAll)
    \cup Family({Pair}, {1}, BOOLEAN, Resized(2, Plain))
MCWitnessScenarios ==
  Family({Chain3, Pair}, {1}, {FALSE}, WithAll)
    \cup Family({Pair, TwoChains}, {2}, BOOLEAN, WithCancel)
    \cup Family({ThreeRoots}, {1}, {FALSE}, Resized(1, Plain))

-----------------------------------------------------------------------------
\* Witnesses: each of these must be violated.
NeverExecutingIsCap == ~(pool.cap > 1 /\ Cardinality(Unlent) = pool.cap)
NeverInFlightIsCapTimesLevels ==
  ~(pool.cap > 1 /\ levels > 1 /\ Cardinality(InFlight) = pool.cap * levels)
NeverALevelFull ==
  \A n \in 2 .. levels :
    LET here == {r \in InFlight : pool.level[r] = n}
    IN Cardinality(here) < 2 \/ Cardinality(here) < pool.taken
NeverTheMostInFlight == Cardinality(InFlight) < scenario.most
NeverAChainOfThree == ~ \E r \in Holders : pool.lent[r] /\ pool.token[r] = "loan"
NeverParked == Parked = {}
NeverAWaitInTwoQueues == \A r \in Waiting : pool.parent[r] = Nobody
NeverAWaitBelowALender == Waiting = {} \/ \A r \in InFlight : ~pool.lent[r]
NeverEveryRunFinished == ~(Known = {} /\ levels > 0)
NeverACascadeOfTwo == [][ Cardinality(Parked \ Known') < 2 ]_vars
NeverARelend ==
  [][ \A r \in Heads : ~(r \in Holders' /\ pool'.token[r] = "loan") ]_vars
NeverTwoGrants == [][ Cardinality(Holders' \ Holders) < 2 ]_vars
NeverAGrantCancelled ==
  [][ \A r \in InFlight : progress[r] = "asked" => progress'[r] # "ended" ]_vars
=============================================================================
