package slotlending

// Order is who gets a freed pool slot (R6).
type Order int

const (
	// Served is fewest held first: the job that holds the fewest slots; jobs that hold as many stand in a line.
	Served Order = iota
	// Oldest is fewest held first; among jobs that hold as many, the one whose run has waited longest.
	Oldest
	// FIFO is the run that has waited longest, whatever its job.
	FIFO
)

// Rules are what is fixed when a pool is made. The zero value is the default.
type Rules struct {
	Order  Order
	Relend bool // whether a slot that comes back to a waiting parent is used again at once (R13)
}

// Job is the path of a job from the root of the job tree.
type Job []string

// Phase is how far a known run has come.
type Phase string

const (
	Waiting  Phase = "waiting"   // it has asked and has no slot yet
	InFlight Phase = "in_flight" // it has a slot and has not finished
	Parked   Phase = "parked"    // it finished while its slot was lent; the slot stays with the loan
)

// Token is what a run has its slot as.
type Token string

const (
	NoToken   Token = "none" // it waits
	PoolToken Token = "pool" // a slot of the pool
	LoanToken Token = "loan" // its parent's slot
)

// Grant is a run that got a slot. Relending can change the token later (R13).
type Grant struct {
	Run   string `json:"run"`
	Token Token  `json:"token"`
}

// Answer is the difference that a call made to who has which slot.
type Answer struct {
	// Granted are the runs that got a slot, in the order of the hand-off. The caller wakes them.
	Granted []Grant `json:"granted"`
	// Relent are the runs whose pool slot went back to the pool while they go on, on loan from their parent (R13).
	Relent []string `json:"relent"`
}

// RunState is one known run.
type RunState struct {
	Phase  Phase   `json:"phase"`
	Token  Token   `json:"token"`
	Lent   bool    `json:"lent"`   // whether its slot is out on loan to a child
	Level  int     `json:"level"`  // 1 without a parent, the parent's + 1 otherwise; fixed at Ask
	Parent *string `json:"parent"` // whose slot it may borrow or borrows; nil without one, or once that has finished
	Job    Job     `json:"job"`
}

// Line is the line of one node of the job tree: the names of the children with a run waiting at or below them.
type Line struct {
	Node Job      `json:"node"`
	Line []string `json:"line"`
}

// Snapshot is the whole state of a pool. It holds orders and never counters or times.
type Snapshot struct {
	Cap      int                 `json:"cap"`
	Taken    int                 `json:"taken"` // pool slots that are out
	Runs     map[string]RunState `json:"runs"`
	Waiting  []string            `json:"waiting"`  // in order of arrival
	Children map[string][]string `json:"children"` // for each run with children that have a slot: these, by admission
	Lines    []Line              `json:"lines"`    // under Served, for each node with a run waiting below it
}
