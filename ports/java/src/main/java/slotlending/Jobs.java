package slotlending;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The tree of the jobs that have known runs, and R6: which waiter gets a freed pool slot.
 *
 * <p>A call costs O(log n) for each node between leaf and root.
 */
final class Jobs {
    private final Order order;
    private final JobNode root = new JobNode("", null);
    private long places;

    Jobs(Order order) {
        this.order = order;
    }

    /** Refuses a job that is empty, or above or below a job that has a known run (R2). */
    void judge(List<String> path) {
        JobNode node = root;
        for (String name : path) {
            if (node.runs > 0) {
                throw refused("job " + path + " is below a job that has a run");
            }
            node = node.below.get(name);
            if (node == null) {
                return;
            }
        }
        if (path.isEmpty()) {
            throw refused("a job is a path of at least one name");
        }
        if (!node.below.isEmpty()) {
            throw refused("job " + path + " is above a job that has a run");
        }
    }

    private static RefusedException refused(String message) {
        return new RefusedException(RefusedException.Code.JOB_NOT_LEAF, message);
    }

    /** One more known run of this job, which was judged. */
    JobNode enter(List<String> path) {
        JobNode node = root;
        for (String name : path) {
            JobNode up = node;
            node = up.below.computeIfAbsent(name, missing -> new JobNode(missing, up));
        }
        node.runs++;
        return node;
    }

    /** One known run of this job fewer. A node without known runs is forgotten. */
    void leave(JobNode node) {
        node.runs--;
        for (JobNode gone = node; gone.up != null && gone.runs == 0 && gone.below.isEmpty(); gone = gone.up) {
            gone.up.below.remove(gone.name);
        }
    }

    /** The run starts to wait. */
    void join(Run run) {
        for (JobNode node = run.job; node != null; node = node.up) {
            if (node.queue.isEmpty()) {
                node.place = order == Order.OLDEST ? run.arrival : ++places;
                node.queue.add(run);
                stand(node);
            } else {
                node.queue.add(run);
            }
        }
    }

    /** The run waits no longer; {@code served}, because it was granted a pool slot. */
    void quit(Run run, boolean served) {
        for (JobNode node = run.job; node != null; node = node.up) {
            step(node);
            node.queue.remove(run);
            if (node.queue.isEmpty()) {
                continue;
            }
            if (order == Order.OLDEST) {
                node.place = node.queue.iterator().next().arrival;
            } else if (served) {
                node.place = ++places;
            }
            stand(node);
        }
    }

    /** The waiter whom the next pool slot goes to, or null (R6). */
    Run pick() {
        JobNode node = root;
        while (!node.line.isEmpty()) {
            node = node.line.first();
        }
        return node.queue.isEmpty() ? null : node.queue.iterator().next();
    }

    /** The job has taken so many pool slots more. */
    void charge(JobNode job, int slots) {
        for (JobNode node = job; node != null; node = node.up) {
            step(node);
            node.held += slots;
            if (!node.queue.isEmpty()) {
                stand(node);
            }
        }
    }

    /** The waiting runs in order of arrival. */
    Iterable<Run> waiting() {
        return root.queue;
    }

    /** The lines of the order {@link Order#SERVED}. */
    Map<List<String>, List<String>> lines() {
        var lines = new HashMap<List<String>, List<String>>();
        if (order == Order.SERVED) {
            addLines(root, lines);
        }
        return lines;
    }

    private static void addLines(JobNode node, Map<List<String>, List<String>> lines) {
        if (!node.line.isEmpty()) {
            lines.put(node.path(), node.names());
            node.line.forEach(below -> addLines(below, lines));
        }
    }

    /** The node stands in its parent's line. Its key does not change while it does. */
    private void stand(JobNode node) {
        if (node.up != null && order != Order.FIFO) {
            node.up.line.add(node);
        }
    }

    /** The node steps out of its parent's line, if it stands there. */
    private static void step(JobNode node) {
        if (node.up != null) {
            node.up.line.remove(node);
        }
    }
}
