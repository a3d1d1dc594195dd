package slotlending;

import java.util.List;

/**
 * One known run.
 *
 * @param phase how far it has come
 * @param token what it has its slot as
 * @param lent whether its slot is out on loan to a child
 * @param level 1 without a parent, the parent's + 1 otherwise; fixed when it asked
 * @param parent whose slot it may borrow or borrows; null without one, or once that has finished
 * @param job the path of its job
 */
public record RunState(Phase phase, Token token, boolean lent, int level, String parent, List<String> job) {}
