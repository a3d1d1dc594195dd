/**
 * Slot lending: a tree of tasks shares one pool of slots without deadlock and without losing its bound.
 *
 * <p>A plain semaphore makes a tree of tasks hang: parents hold every slot while they wait for children that need one.
 * Giving the slot back before waiting loses the bound. Lending keeps both: <b>a parent keeps its slot and lends it to
 * one child at a time</b>. Start at {@link slotlending.Pool}.
 */
package slotlending;
