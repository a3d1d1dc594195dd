package slotlending;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * One job with known runs at or below it, or an inner node of the tree of jobs, or its root.
 *
 * <p>Every node has the queue of the runs that wait at or below it, by arrival; the root's is the pool's queue. Every
 * node but the root stands in its parent's line as long as its queue is not empty, under the key (held, place).
 */
final class JobNode {
    private static final Comparator<JobNode> LEAST_FIRST =
            Comparator.<JobNode>comparingLong(node -> node.held).thenComparingLong(node -> node.place);

    final String name;
    final JobNode up;
    final Map<String, JobNode> below = new HashMap<>();
    /** Known runs of this very job. */
    int runs;
    /** Pool slots charged to runs at or below, parked ones included. */
    int held;
    /** Drawn on joining the line and on going to its end; under {@link Order#OLDEST} the arrival of the first in queue. */
    long place;

    final LinkedHashSet<Run> queue = new LinkedHashSet<>();
    final TreeSet<JobNode> line = new TreeSet<>(LEAST_FIRST);

    JobNode(String name, JobNode up) {
        this.name = name;
        this.up = up;
    }

    List<String> path() {
        var path = new ArrayList<String>();
        for (JobNode node = this; node.up != null; node = node.up) {
            path.add(node.name);
        }
        Collections.reverse(path);
        return path;
    }

    /** The names in line, in the order of the line. */
    List<String> names() {
        return line.stream()
                .sorted(Comparator.comparingLong(node -> node.place))
                .map(node -> node.name)
                .toList();
    }
}
