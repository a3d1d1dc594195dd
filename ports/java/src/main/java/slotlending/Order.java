package slotlending;

/** Who gets a freed pool slot (R6). */
public enum Order {
    /** The job that holds the fewest slots first; jobs that hold as many stand in a line. */
    SERVED,
    /** The job that holds the fewest slots first; among those that hold as many, the one whose run has waited longest. */
    OLDEST,
    /** The run that has waited longest, whatever its job. */
    FIFO
}
