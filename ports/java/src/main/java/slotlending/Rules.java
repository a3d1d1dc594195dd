package slotlending;

/**
 * What is fixed when a pool is made.
 *
 * @param order who gets a freed pool slot
 * @param relend whether a slot that comes back to a waiting parent is used again at once (R13)
 */
public record Rules(Order order, boolean relend) {
    /** Fewest held first with the tie-break "served", without relending. */
    public static final Rules DEFAULT = new Rules(Order.SERVED, false);
}
