package slotlending;

import java.util.Locale;

/** What a run has its slot as. */
public enum Token {
    /** It waits. */
    NONE,
    /** A slot of the pool. */
    POOL,
    /** Its parent's slot. */
    LOAN;

    /** The word of the port protocol. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
