package slotlending;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The shared slots of a tree of runs.
 *
 * <pre>{@code
 * var pool = new Pool(1, Rules.DEFAULT);
 * pool.ask("walk", null, null);    // granted: walk, a pool slot
 * pool.ask("file", "walk", null);  // granted: file, on loan
 * pool.ask("other", null, null);   // nothing granted: it waits
 * pool.finish("file");
 * pool.finish("walk");             // granted: other, a pool slot
 * }</pre>
 *
 * <p>A state machine without clock, thread or lock: a call is one step, and its {@link Answer} says who got a slot, so
 * that the caller can wake those. Share it between threads behind one lock. Run ids and names of jobs are strings.
 *
 * <p>Every run in flight or parked has a slot: one of the pool, or its parent's on loan. So each pool slot heads a
 * chain: the run that took it, its borrower, that run's borrower, and so on down the tree. Exactly one run of a chain,
 * the last, holds the slot unlent. Hence runs that hold a slot unlent = slots taken &lt;= cap, and, a chain having at
 * most one run a level, runs in flight &lt;= cap x levels.
 *
 * <p>A call costs O(1), O(log n) more for each level of the job where it waits or is charged, and as much for each
 * grant; nothing walks the waiting runs.
 */
public sealed class Pool permits FaultyPool {
    private int cap;
    /** Pool slots that are out = runs with a pool token. */
    private int taken;

    private final boolean relend;
    private final Map<String, Run> runs = new HashMap<>();
    private final Jobs jobs;
    /** The last arrival. */
    private long clock;

    /** What the call at hand has granted and relent so far. */
    private final List<Grant> granted = new ArrayList<>();

    private final List<String> relent = new ArrayList<>();

    /**
     * A pool of {@code cap} slots (R1). The rules are fixed from here on.
     *
     * @throws RefusedException BAD_CAP if the cap is below 1
     */
    public Pool(int cap, Rules rules) {
        judgeCap(cap);
        this.cap = cap;
        this.relend = rules.relend();
        this.jobs = new Jobs(rules.order());
    }

    /**
     * Asks for a slot (R2). The answer grants it to the run at once, or the run waits for a later grant.
     *
     * @param parent the run in flight whose slot it may borrow, or null
     * @param job the path of its job; if null, its parent's, and without a parent a job of its own id
     * @throws RefusedException RUN_KNOWN, PARENT_NOT_IN_FLIGHT or JOB_NOT_LEAF: the first that applies
     */
    public Answer ask(String run, String parent, List<String> job) {
        return admit(run, parent, job, true);
    }

    /** As {@link #ask}; but where the run would have to wait, nothing is granted and nothing changes. */
    public Answer tryAsk(String run, String parent, List<String> job) {
        return admit(run, parent, job, false);
    }

    /**
     * The run has ended (R3). Its slot goes on at once, or stays with its borrower until the loan comes back.
     *
     * @throws RefusedException NOT_ADMITTED while it waits, NOT_KNOWN if it is not in flight otherwise
     */
    public Answer finish(String id) {
        Run run = find(id);
        if (run.phase == Phase.WAITING) {
            throw refused(RefusedException.Code.NOT_ADMITTED, "run " + id + " waits for a slot, so it cannot finish");
        }
        end(run);
        return answer();
    }

    /**
     * The run will not go on (R5): a waiting run leaves both queues, one in flight gives its slot on as if it had
     * finished. None of its children is cancelled: a structured front end cancels those first.
     *
     * @throws RefusedException NOT_KNOWN if it is neither waiting nor in flight
     */
    public Answer cancel(String id) {
        Run run = find(id);
        if (run.phase == Phase.WAITING) {
            unqueue(run, false);
            forget(run);
        } else {
            cancelAdmitted(run);
        }
        return answer();
    }

    /**
     * Changes the cap (R8). Raising it serves waiters in the same step; lowering it takes nothing away.
     *
     * @throws RefusedException BAD_CAP if the cap is below 1
     */
    public Answer resize(int cap) {
        judgeCap(cap);
        this.cap = cap;
        serve();
        return answer();
    }

    /** The whole state. It costs as much as there are known runs. */
    public Snapshot snapshot() {
        var states = new LinkedHashMap<String, RunState>();
        var children = new LinkedHashMap<String, List<String>>();
        for (Run run : runs.values()) {
            String parent = run.parent == null ? null : run.parent.id;
            boolean lent = run.borrower != null;
            states.put(run.id, new RunState(run.phase, run.token, lent, run.level, parent, run.job.path()));
            if (!run.children.isEmpty()) {
                children.put(run.id, ids(run.children));
            }
        }
        return new Snapshot(cap, taken, states, ids(jobs.waiting()), children, jobs.lines());
    }

    // -- asking

    private Answer admit(String id, String parent, List<String> job, boolean mayWait) {
        Run lender = judge(id, parent);
        List<String> path = job != null ? job : lender != null ? lender.job.path() : List.of(id);
        jobs.judge(path);
        Token token = tokenAtOnce(lender);
        if (token == Token.NONE && !mayWait) {
            return Answer.NOTHING;
        }
        var run = new Run(id, lender, jobs.enter(path));
        runs.put(id, run);
        if (token == Token.NONE) {
            queue(run);
        } else {
            handOver(run, token);
        }
        return answer();
    }

    /** R2's refusals in its order, the job aside; the parent, if one was named. */
    private Run judge(String id, String parent) {
        Run known = runs.get(id);
        if (known != null) {
            throw refused(RefusedException.Code.RUN_KNOWN, "run " + id + " is known: " + known.phase);
        }
        if (parent == null) {
            return null;
        }
        Run lender = runs.get(parent);
        if (lender == null || lender.phase != Phase.IN_FLIGHT) {
            throw refused(RefusedException.Code.PARENT_NOT_IN_FLIGHT, "parent " + parent + " is not in flight");
        }
        return lender;
    }

    /** R2.1 and R2.2: what a new run of this parent takes a slot as at once, or NONE. */
    Token tokenAtOnce(Run parent) {
        if (parent != null && parent.borrower == null) {
            return Token.LOAN;
        }
        return slotIsFree() ? Token.POOL : Token.NONE;
    }

    boolean slotIsFree() {
        return taken < cap;
    }

    /** R2.3: the run waits in two queues at once, its parent's and the pool's. */
    private void queue(Run run) {
        run.arrival = ++clock;
        if (run.parent != null) {
            run.parent.queue.add(run);
        }
        jobs.join(run);
    }

    // -- slots that go out

    /** The run, in no queue (any more), has its slot from now on. */
    private void handOver(Run run, Token token) {
        run.phase = Phase.IN_FLIGHT;
        run.token = token;
        granted.add(new Grant(run.id, token));
        if (token == Token.POOL) {
            taken++;
            charge(run, 1);
        } else {
            run.parent.borrower = run;
        }
        if (run.parent != null) {
            run.parent.children.add(run);
        }
    }

    /** A waiting run gets a slot: it leaves both queues in this step (R4). */
    private void grant(Run run, Token token) {
        unqueue(run, token == Token.POOL);
        handOver(run, token);
    }

    /** Hands out the free pool slots one by one, the order asked anew for each (R6, R7, R8). */
    private void serve() {
        for (Run waiter = jobs.pick(); waiter != null && slotIsFree(); waiter = jobs.pick()) {
            grant(waiter, Token.POOL);
        }
    }

    /** A waiting run leaves both queues. */
    void unqueue(Run run, boolean served) {
        jobs.quit(run, served);
        if (run.parent != null) {
            run.parent.queue.remove(run);
        }
    }

    // -- slots that come back

    /** R5: a run in flight was cancelled. Its slot goes on by the token that it has now. */
    void cancelAdmitted(Run run) {
        end(run);
    }

    /** R3: a run in flight has ended. Its children lose their parent, its borrower aside. */
    private void end(Run run) {
        run.queue.forEach(child -> child.parent = null);
        run.queue.clear();
        run.children.remove(run.borrower);
        run.children.forEach(child -> child.parent = null);
        run.children.clear();
        if (run.borrower == null) {
            giveBack(run);
        } else {
            park(run);
        }
    }

    /** R3: the run has ended while its slot is lent. The slot stays with the loan. */
    void park(Run run) {
        run.children.add(run.borrower);
        run.phase = Phase.PARKED;
    }

    /** R4: the slot of a run that has ended, and holds it unlent, goes back to where it came from. */
    private void giveBack(Run ended) {
        Run run = ended;
        while (run.token == Token.LOAN) {
            Run lender = run.parent;
            forget(run);
            lender.borrower = null;
            if (lender.phase == Phase.IN_FLIGHT) {
                loanReturned(lender);
                return;
            }
            run = lender; // parked: it gives its own slot back in turn
        }
        returnSlot(run);
        forget(run);
        serve();
    }

    /** An open lender has its slot back: its longest-waiting child gets it, or (R13) it relends, or it holds it. */
    private void loanReturned(Run lender) {
        if (!lender.queue.isEmpty()) {
            grant(nextBorrower(lender), Token.LOAN);
        } else if (relend && !lender.children.isEmpty()) {
            relend(lender);
            serve();
        }
    }

    /** The child that a slot which came back goes to. One waits. */
    Run nextBorrower(Run lender) {
        return lender.queue.iterator().next();
    }

    /** R13: the child admitted first goes on, on loan. It is on a pool slot, as all are: the one on loan has ended. */
    void relend(Run lender) {
        Run child = lender.children.iterator().next();
        returnSlot(child);
        child.token = Token.LOAN;
        lender.borrower = child;
        relent.add(child.id);
    }

    /** The run's pool slot comes back, uncharged before anybody is served (R4). */
    void returnSlot(Run run) {
        taken--;
        charge(run, -1);
    }

    /** The job of the run has taken so many pool slots more. */
    void charge(Run run, int slots) {
        jobs.charge(run.job, slots);
    }

    private void forget(Run run) {
        runs.remove(run.id);
        jobs.leave(run.job);
        if (run.parent != null) {
            run.parent.children.remove(run);
        }
    }

    // -- small parts

    /** A run that is waiting or in flight. */
    private Run find(String id) {
        Run run = runs.get(id);
        if (run == null || run.phase == Phase.PARKED) {
            throw refused(RefusedException.Code.NOT_KNOWN, "run " + id + " is neither waiting nor in flight");
        }
        return run;
    }

    /** What this call did, all told. */
    private Answer answer() {
        if (granted.isEmpty() && relent.isEmpty()) {
            return Answer.NOTHING;
        }
        var answer = new Answer(List.copyOf(granted), List.copyOf(relent));
        granted.clear();
        relent.clear();
        return answer;
    }

    private static List<String> ids(Iterable<Run> runs) {
        var ids = new ArrayList<String>();
        runs.forEach(run -> ids.add(run.id));
        return ids;
    }

    private static void judgeCap(int cap) {
        if (cap < 1) {
            throw refused(RefusedException.Code.BAD_CAP, "a cap is an integer of at least 1, not " + cap);
        }
    }

    private static RefusedException refused(RefusedException.Code code, String message) {
        return new RefusedException(code, message);
    }
}
