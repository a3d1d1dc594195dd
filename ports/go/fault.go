package slotlending

// A fault is a mistake as a port might make it, to try out the checker with. Without the build tag "faults", faulty is
// the constant false and the compiler drops what it guards.
type fault string

const (
	// R3, R5: a parked run can finish, or be cancelled, once more.
	parkedNotRefused fault = "parked_not_refused"
	// R2: a parked run can still be a parent.
	parkedParent fault = "parked_parent"
	// R8: a slot that comes back is handed on although the cap was lowered below what is taken.
	grantsOverCap fault = "grants_over_cap"
	// R3: the children of a run that ended keep it as their parent.
	orphansKeepParent fault = "orphans_keep_parent"
	// R4: a slot that comes back is uncharged only after the next waiter was picked.
	chargedLate fault = "charged_late"
	// R6: a loan, too, sends its job to the end of the line.
	loanMovesLine fault = "loan_moves_line"
)
