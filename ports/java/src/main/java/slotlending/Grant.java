package slotlending;

/**
 * A run that got a slot.
 *
 * @param run its id
 * @param token what it has its slot as; relending can change that later (R13)
 */
public record Grant(String run, Token token) {}
