package slotlending;

import java.util.LinkedHashSet;

/** One known run, as the pool keeps it. */
final class Run {
    final String id;
    final int level;
    final JobNode job;
    Phase phase = Phase.WAITING;
    Token token = Token.NONE;
    Run parent;
    /** The child that has this run's slot on loan. */
    Run borrower;
    /** When it started to wait: a number that only grows. */
    long arrival;
    /** Its waiting children by arrival. */
    final LinkedHashSet<Run> queue = new LinkedHashSet<>();
    /** Its children with a slot, parked ones too, by admission. */
    final LinkedHashSet<Run> children = new LinkedHashSet<>();

    Run(String id, Run parent, JobNode job) {
        this.id = id;
        this.parent = parent;
        this.job = job;
        this.level = parent == null ? 1 : parent.level + 1;
    }
}
