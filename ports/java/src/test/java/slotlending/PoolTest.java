package slotlending;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PoolTest {
    private static Pool pool(int cap) {
        return new Pool(cap, Rules.DEFAULT);
    }

    /** An answer in one line: {@code x:pool y:loan}, and {@code ~z} for a run that was relent. */
    private static String told(Answer answer) {
        Stream<String> granted = answer.granted().stream().map(grant -> grant.run() + ":" + grant.token());
        return Stream.concat(granted, answer.relent().stream().map(run -> "~" + run)).collect(Collectors.joining(" "));
    }

    private static void assertRefused(RefusedException.Code code, Supplier<?> call) {
        assertEquals(code, assertThrows(RefusedException.class, call::get).code());
    }

    @Test
    void r1ACapIsAtLeastOne() {
        assertRefused(RefusedException.Code.BAD_CAP, () -> pool(0));
        assertRefused(RefusedException.Code.BAD_CAP, () -> pool(1).resize(-1));
    }

    @Test
    void r2TheParentsSlotComesBeforeAPoolSlot() {
        Pool pool = pool(2);
        assertEquals("r:pool", told(pool.ask("r", null, null)));
        assertEquals("a:loan", told(pool.ask("a", "r", null)));
        assertEquals("b:pool", told(pool.ask("b", "r", null)));
        assertEquals("", told(pool.ask("c", "r", null)));
        assertEquals(List.of("c"), pool.snapshot().waiting());
        assertEquals(List.of("a", "b"), pool.snapshot().children().get("r"));
    }

    @Test
    void r2RefusalsComeInOrderAndChangeNothing() {
        Pool pool = pool(1);
        pool.ask("r", null, List.of("app", "one"));
        pool.ask("w", null, null);
        Snapshot before = pool.snapshot();
        assertRefused(RefusedException.Code.RUN_KNOWN, () -> pool.ask("r", "nobody", List.of()));
        assertRefused(RefusedException.Code.PARENT_NOT_IN_FLIGHT, () -> pool.ask("x", "nobody", List.of()));
        assertRefused(RefusedException.Code.PARENT_NOT_IN_FLIGHT, () -> pool.ask("x", "w", null));
        for (List<String> job : List.of(
                List.<String>of(), List.of("app"), List.of("app", "one", "more"), List.of("w", "more"))) {
            assertRefused(RefusedException.Code.JOB_NOT_LEAF, () -> pool.ask("x", "r", job));
        }
        assertRefused(RefusedException.Code.JOB_NOT_LEAF, () -> pool.ask("app", null, null));
        assertRefused(RefusedException.Code.NOT_ADMITTED, () -> pool.finish("w"));
        assertRefused(RefusedException.Code.NOT_KNOWN, () -> pool.finish("x"));
        assertRefused(RefusedException.Code.NOT_KNOWN, () -> pool.cancel("x"));
        assertEquals(before, pool.snapshot());
    }

    @Test
    void r2TryAskWaitsForNothing() {
        Pool pool = pool(1);
        assertEquals("r:pool", told(pool.tryAsk("r", null, null)));
        Snapshot before = pool.snapshot();
        assertEquals("", told(pool.tryAsk("x", null, List.of("a", "b"))));
        assertEquals(before, pool.snapshot());
        assertEquals("a:loan", told(pool.tryAsk("a", "r", null)));
    }

    @Test
    void r3ALenderIsParkedAndItsSlotComesBackUpTheChain() {
        Pool pool = pool(1);
        pool.ask("r", null, null);
        pool.ask("a", "r", null);
        pool.ask("x", "a", null);
        pool.ask("s", null, null);
        assertEquals("", told(pool.finish("r")));
        assertEquals("", told(pool.finish("a")));
        assertEquals(Phase.PARKED, pool.snapshot().runs().get("a").phase());
        assertRefused(RefusedException.Code.NOT_KNOWN, () -> pool.finish("a"));
        assertRefused(RefusedException.Code.NOT_KNOWN, () -> pool.cancel("a"));
        assertRefused(RefusedException.Code.PARENT_NOT_IN_FLIGHT, () -> pool.ask("y", "a", null));
        assertEquals("s:pool", told(pool.finish("x")));
        assertEquals(1, pool.snapshot().runs().size());
    }

    @Test
    void r3OrphansKeepLevelAndPlace() {
        Pool pool = pool(2);
        pool.ask("r", null, null);
        for (String run : List.of("a", "b", "c")) {
            pool.ask(run, "r", null);
        }
        pool.finish("r");
        Map<String, RunState> runs = pool.snapshot().runs();
        assertEquals("r", runs.get("a").parent()); // the borrower of its slot
        assertNull(runs.get("b").parent());
        assertEquals(2, runs.get("b").level());
        assertNull(runs.get("c").parent());
        assertEquals("c:pool", told(pool.finish("a")));
    }

    @Test
    void r4ALoanGoesToTheLongestWaitingChild() {
        Pool pool = pool(1);
        pool.ask("r", null, null);
        pool.ask("a", "r", null);
        pool.ask("s", null, null);
        pool.ask("b", "r", null);
        pool.ask("c", "r", null);
        assertEquals("b:loan", told(pool.finish("a")));
        assertEquals("c:loan", told(pool.cancel("b")));
        assertEquals("", told(pool.cancel("c")));
        assertEquals("s:pool", told(pool.finish("r")));
    }

    @Test
    void r5ACancelledWaiterLeavesBothQueues() {
        Pool pool = pool(1);
        pool.ask("r", null, null);
        for (String run : List.of("a", "b", "c")) {
            pool.ask(run, "r", null);
        }
        assertEquals("", told(pool.cancel("b")));
        assertEquals("c:loan", told(pool.finish("a")));
        assertEquals("", told(pool.ask("b", "r", null))); // forgotten, so it may be asked again
    }

    @ParameterizedTest
    @CsvSource({"SERVED, b0 b1 s1 b2 s2", "OLDEST, b0 b1 b2 s1 s2", "FIFO, b0 b1 b2 s1 s2"})
    void r6Orders(Order order, String expected) {
        Pool pool = new Pool(1, new Rules(order, false));
        for (String run : List.of("b0", "b1", "b2", "s1", "s2")) {
            pool.ask(run, null, List.of(run.substring(0, 1)));
        }
        var served = new ArrayList<>(List.of("b0"));
        for (Answer answer = pool.finish("b0"); !answer.granted().isEmpty(); ) {
            String run = answer.granted().get(0).run();
            served.add(run);
            answer = pool.finish(run);
        }
        assertEquals(expected, String.join(" ", served));
    }

    @Test
    void r6TheJobThatHoldsFewestGoesFirstAtEveryNode() {
        Pool pool = new Pool(2, new Rules(Order.OLDEST, false));
        pool.ask("a", null, List.of("x", "1"));
        pool.ask("b", null, List.of("x", "2"));
        pool.ask("c", null, List.of("x", "1"));
        pool.ask("d", null, List.of("y", "1"));
        pool.ask("e", null, List.of("x", "3"));
        assertEquals("d:pool", told(pool.finish("a"))); // x holds 1, y holds 0
        assertEquals("c:pool", told(pool.finish("b"))); // below x nobody holds: the oldest
    }

    @Test
    void r6ServedShowsItsLines() {
        Pool pool = pool(1);
        pool.ask("a", null, List.of("x", "1"));
        pool.ask("b", null, List.of("x", "2"));
        pool.ask("c", null, List.of("y", "1"));
        pool.ask("d", null, List.of("x", "1"));
        var lines = Map.of(
                List.<String>of(), List.of("x", "y"),
                List.of("x"), List.of("2", "1"),
                List.of("y"), List.of("1"));
        assertEquals(lines, pool.snapshot().lines());
    }

    @Test
    void r8RaisingServesAndLoweringRevokesNothing() {
        Pool pool = pool(1);
        for (String run : List.of("a", "b", "c", "d")) {
            pool.ask(run, null, null);
        }
        assertEquals("b:pool c:pool", told(pool.resize(3)));
        assertEquals("", told(pool.resize(1)));
        assertEquals("", told(pool.finish("a")));
        assertEquals("", told(pool.finish("b")));
        assertEquals("d:pool", told(pool.finish("c")));
    }

    @Test
    void r13AWaitingParentLendsToTheChildAdmittedFirst() {
        Pool pool = new Pool(2, new Rules(Order.SERVED, true));
        pool.ask("r", null, null);
        pool.ask("a", "r", null);
        pool.ask("b", "r", null);
        pool.ask("s", null, null);
        assertEquals("s:pool ~b", told(pool.finish("a")));
        assertEquals(Token.LOAN, pool.snapshot().runs().get("b").token());
    }

    @Test
    void aPoolWithoutRunsRemembersNothing() {
        Pool pool = pool(1);
        Snapshot empty = pool.snapshot();
        for (int round = 0; round < 3; round++) {
            pool.ask("run " + round, null, List.of("deep", "er", "run " + round));
            pool.finish("run " + round);
        }
        assertEquals(empty, pool.snapshot());
    }
}
