package slotlending;

import java.util.List;

/**
 * The difference that a call made to who has which slot.
 *
 * @param granted the runs that got a slot, in the order of the hand-off; the caller wakes them
 * @param relent the runs whose pool slot went back to the pool while they go on, on loan from their parent (R13)
 */
public record Answer(List<Grant> granted, List<String> relent) {
    /** The answer of a call that gave nobody a slot. */
    public static final Answer NOTHING = new Answer(List.of(), List.of());
}
