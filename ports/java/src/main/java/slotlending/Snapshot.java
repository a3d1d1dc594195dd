package slotlending;

import java.util.List;
import java.util.Map;

/**
 * The whole state of a pool. It holds orders and never counters or times.
 *
 * @param cap how many slots there are
 * @param taken pool slots that are out
 * @param runs every known run by id
 * @param waiting the waiting runs in order of arrival
 * @param children for each run with children that have a slot: these, in order of admission
 * @param lines under {@link Order#SERVED}, for each node of the job tree with a run waiting below it: its line
 */
public record Snapshot(
        int cap,
        int taken,
        Map<String, RunState> runs,
        List<String> waiting,
        Map<String, List<String>> children,
        Map<List<String>, List<String>> lines) {}
