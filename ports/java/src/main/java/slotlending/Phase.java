package slotlending;

import java.util.Locale;

/** How far a known run has come. */
public enum Phase {
    /** It has asked and has no slot yet. */
    WAITING,
    /** It has a slot and has not finished. */
    IN_FLIGHT,
    /** It finished while its slot was lent; the slot stays with the loan. */
    PARKED;

    /** The word of the port protocol. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
