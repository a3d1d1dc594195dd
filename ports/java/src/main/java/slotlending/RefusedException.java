package slotlending;

import java.util.Locale;

/** A call that the rules refuse. It has changed nothing. */
public final class RefusedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Why a call was refused. */
    public enum Code {
        /** R1, R8: a cap is at least 1. */
        BAD_CAP,
        /** R2: the pool still knows a run of this id. */
        RUN_KNOWN,
        /** R2: only a run in flight can be a parent. */
        PARENT_NOT_IN_FLIGHT,
        /** R2: runs belong to leaf jobs, so no job with a known run lies above or below another. */
        JOB_NOT_LEAF,
        /** R3: a run that waits cannot finish; it can be cancelled. */
        NOT_ADMITTED,
        /** R3, R5: never asked, finished, cancelled or parked. */
        NOT_KNOWN;

        /** The word of the port protocol. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private final Code code;

    RefusedException(Code code, String message) {
        super(message);
        this.code = code;
    }

    /** Why. */
    public Code code() {
        return code;
    }
}
