package slotlending;

/**
 * Pools with a mistake as a port might make it, to try out the checker with. Never for use.
 *
 * <p>Each gets one step of {@link Pool} wrong and is otherwise like it.
 */
public abstract sealed class FaultyPool extends Pool {
    private FaultyPool(int cap, Rules rules) {
        super(cap, rules);
    }

    /**
     * The faulty pool of this name.
     *
     * @throws IllegalArgumentException if there is none
     */
    public static Pool named(String name, int cap, Rules rules) {
        return switch (name) {
            case "cancel_to_pool" -> new CancelToPool(cap, rules);
            case "pool_slot_first" -> new PoolSlotFirst(cap, rules);
            case "newest_child_first" -> new NewestChildFirst(cap, rules);
            case "line_kept" -> new LineKept(cap, rules);
            case "relends_out_of_order" -> new RelendsOutOfOrder(cap, rules);
            case "parked_uncharged" -> new ParkedUncharged(cap, rules);
            default -> throw new IllegalArgumentException("no fault " + name);
        };
    }

    /** R5: the slot of a cancelled borrower goes to the pool instead of to its lender. */
    private static final class CancelToPool extends FaultyPool {
        CancelToPool(int cap, Rules rules) {
            super(cap, rules);
        }

        @Override
        void cancelAdmitted(Run run) {
            run.token = Token.POOL;
            super.cancelAdmitted(run);
        }
    }

    /** R2: a free pool slot is taken before the parent's. */
    private static final class PoolSlotFirst extends FaultyPool {
        PoolSlotFirst(int cap, Rules rules) {
            super(cap, rules);
        }

        @Override
        Token tokenAtOnce(Run parent) {
            return slotIsFree() ? Token.POOL : super.tokenAtOnce(parent);
        }
    }

    /** R4: a loan that came back goes to the child that asked last. */
    private static final class NewestChildFirst extends FaultyPool {
        NewestChildFirst(int cap, Rules rules) {
            super(cap, rules);
        }

        @Override
        Run nextBorrower(Run lender) {
            return lender.queue.stream().reduce((first, second) -> second).orElseThrow();
        }
    }

    /** R6: a job keeps its place in the line after a grant. */
    private static final class LineKept extends FaultyPool {
        LineKept(int cap, Rules rules) {
            super(cap, rules);
        }

        @Override
        void unqueue(Run run, boolean served) {
            super.unqueue(run, false);
        }
    }

    /** R13: the child that goes on loan loses its place in the order of admission. */
    private static final class RelendsOutOfOrder extends FaultyPool {
        RelendsOutOfOrder(int cap, Rules rules) {
            super(cap, rules);
        }

        @Override
        void relend(Run lender) {
            super.relend(lender);
            lender.children.remove(lender.borrower);
            lender.children.add(lender.borrower);
        }
    }

    /** R6: a parked run's pool slot is charged to nobody. */
    private static final class ParkedUncharged extends FaultyPool {
        ParkedUncharged(int cap, Rules rules) {
            super(cap, rules);
        }

        @Override
        void park(Run run) {
            super.park(run);
            charge(run, -1);
        }

        @Override
        void returnSlot(Run run) {
            if (run.phase == Phase.PARKED) {
                charge(run, 1);
            }
            super.returnSlot(run);
        }
    }
}
