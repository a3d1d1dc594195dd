package slotlending

import "fmt"

// Code says why a call was refused, in the words of the port protocol.
type Code string

// The refusals of the rules. Of the first three after BadCap, [Pool.Ask] tells the first that applies.
const (
	BadCap            Code = "bad_cap"              // R1, R8: a cap is at least 1
	RunKnown          Code = "run_known"            // R2: the pool still knows a run of this id
	ParentNotInFlight Code = "parent_not_in_flight" // R2: only a run in flight can be a parent
	JobNotLeaf        Code = "job_not_leaf"         // R2: no job with a known run lies above or below another
	NotAdmitted       Code = "not_admitted"         // R3: a run that waits cannot finish; it can be cancelled
	NotKnown          Code = "not_known"            // R3, R5: never asked, finished, cancelled or parked
)

// Refusal is the error of every call that the rules refuse. Such a call changes nothing.
type Refusal struct {
	Code    Code
	Message string
}

func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Message }

func refuse(code Code, format string, values ...any) *Refusal {
	return &Refusal{code, fmt.Sprintf(format, values...)}
}
