package slotlending

import "container/list"

// run is one known run.
type run struct {
	id       string
	phase    Phase
	token    Token
	level    int
	parent   *run
	job      *node
	borrower *run            // the child that has its slot on loan
	arrival  int             // when it started to wait
	spots    []*list.Element // while it waits: its places in the queues of its job and of each node above
	spot     *list.Element   // its place among its parent's: in queue while it waits, in children afterwards
	queue    list.List       // its waiting children by arrival
	children list.List       // its children with a slot, parked ones too, by admission
}

// Pool is the shared slots of a tree of runs. Make one with [New].
//
// Every run in flight or parked has a slot: one of the pool, or its parent's on loan. So each pool slot heads a chain:
// the run that took it, its borrower, that run's borrower, and so on down the tree. Exactly one run of a chain, the
// last, holds the slot unlent. Hence runs that hold a slot unlent = slots taken <= cap, and, a chain having at most one
// run a level, runs in flight <= cap x levels.
//
// A call costs O(1), O(log n) more for each level of the job where it waits or is charged, and as much for each grant;
// nothing walks the waiting runs.
type Pool struct {
	cap    int
	taken  int // pool slots that are out = runs with a pool token
	relend bool
	runs   map[string]*run
	jobs   *jobs
	clock  int // the last arrival
}

// New makes a pool of cap slots (R1). The rules are fixed from here on. It refuses a cap below 1 ([BadCap]).
func New(cap int, rules Rules) (*Pool, error) {
	if err := judgeCap(cap); err != nil {
		return nil, err
	}
	return &Pool{cap: cap, relend: rules.Relend, runs: map[string]*run{}, jobs: newJobs(rules.Order)}, nil
}

// An Option says more about the run that asks.
type Option func(*request)

type request struct {
	parent *string
	job    *Job
}

// Under names the parent: the run in flight whose slot the run may borrow.
func Under(parent string) Option { return func(r *request) { r.parent = &parent } }

// In names the job. By default it is the parent's, and without a parent a job of the run's own id.
func In(job ...string) Option { return func(r *request) { r.job = (*Job)(&job) } }

// Ask asks for a slot (R2). The answer grants it to the run at once, or the run waits for a later grant.
//
// It refuses with [RunKnown], [ParentNotInFlight] or [JobNotLeaf]: the first that applies.
func (p *Pool) Ask(id string, options ...Option) (Answer, error) {
	return p.admit(id, options, true)
}

// TryAsk is [Pool.Ask]; but where the run would have to wait, nothing is granted and nothing changes.
func (p *Pool) TryAsk(id string, options ...Option) (Answer, error) {
	return p.admit(id, options, false)
}

// Finish tells that a run has ended (R3). Its slot goes on at once, or stays with its borrower until the loan comes
// back.
//
// It refuses a run that waits with [NotAdmitted], and any other that is not in flight with [NotKnown].
func (p *Pool) Finish(id string) (Answer, error) {
	r, err := p.find(id)
	if err != nil {
		return Answer{}, err
	}
	if r.phase == Waiting {
		return Answer{}, refuse(NotAdmitted, "run %q waits for a slot, so it cannot finish", id)
	}
	var answer Answer
	p.end(r, &answer)
	return answer, nil
}

// Cancel tells that a run will not go on (R5): a waiting run leaves both queues, one in flight gives its slot on as if
// it had finished. None of its children is cancelled: a structured front end cancels those first.
//
// It refuses a run that is neither waiting nor in flight with [NotKnown].
func (p *Pool) Cancel(id string) (Answer, error) {
	r, err := p.find(id)
	if err != nil {
		return Answer{}, err
	}
	var answer Answer
	if r.phase == Waiting {
		p.unqueue(r, false)
		p.forget(r)
	} else {
		p.end(r, &answer)
	}
	return answer, nil
}

// Resize changes the cap (R8). Raising it serves waiters in the same step; lowering it takes nothing away. It refuses a
// cap below 1 ([BadCap]).
func (p *Pool) Resize(cap int) (Answer, error) {
	if err := judgeCap(cap); err != nil {
		return Answer{}, err
	}
	p.cap = cap
	var answer Answer
	p.serve(&answer)
	return answer, nil
}

// Snapshot is the whole state. It costs as much as there are known runs.
func (p *Pool) Snapshot() Snapshot {
	s := Snapshot{
		Cap:      p.cap,
		Taken:    p.taken,
		Runs:     make(map[string]RunState, len(p.runs)),
		Waiting:  ids(p.jobs.root.queue),
		Children: map[string][]string{},
		Lines:    p.jobs.lines(p.jobs.root),
	}
	for id, r := range p.runs {
		state := RunState{Phase: r.phase, Token: r.token, Lent: r.borrower != nil, Level: r.level, Job: r.job.path()}
		if r.parent != nil {
			state.Parent = &r.parent.id
		}
		s.Runs[id] = state
		if r.children.Len() > 0 {
			s.Children[id] = ids(&r.children)
		}
	}
	return s
}

// -- asking

func (p *Pool) admit(id string, options []Option, mayWait bool) (Answer, error) {
	var answer Answer
	r, job, err := p.judge(id, options)
	if err != nil {
		return answer, err
	}
	token := p.tokenAtOnce(r)
	if token == NoToken && !mayWait {
		return answer, nil
	}
	r.job = p.jobs.at(job)
	r.job.runs++
	p.runs[id] = r
	if token == NoToken {
		p.wait(r)
	} else {
		p.handOver(r, token, &answer)
	}
	return answer, nil
}

// judge refuses in R2's order, and changes nothing: the run that it gives is not known yet, and has no job.
func (p *Pool) judge(id string, options []Option) (*run, Job, error) {
	var asked request
	for _, option := range options {
		option(&asked)
	}
	if known := p.runs[id]; known != nil {
		return nil, nil, refuse(RunKnown, "run %q is known: %s", id, known.phase)
	}
	r := &run{id: id, phase: Waiting, token: NoToken, level: 1}
	job := Job{id}
	if asked.parent != nil {
		r.parent = p.runs[*asked.parent]
		if r.parent == nil || r.parent.phase != InFlight && !(r.parent.phase == Parked && faulty(parkedParent)) {
			return nil, nil, refuse(ParentNotInFlight, "parent %q is not in flight", *asked.parent)
		}
		r.level = r.parent.level + 1
		job = r.parent.job.path()
	}
	if asked.job != nil {
		job = *asked.job
	}
	if err := p.jobs.judge(job); err != nil {
		return nil, nil, err
	}
	return r, job, nil
}

// tokenAtOnce is R2.1 and R2.2: what a new run takes a slot as at once, or NoToken.
func (p *Pool) tokenAtOnce(r *run) Token {
	switch {
	case r.parent != nil && r.parent.borrower == nil:
		return LoanToken
	case p.taken < p.cap:
		return PoolToken
	}
	return NoToken
}

// wait is R2.3: the run waits in two queues at once, its parent's and the pool's.
func (p *Pool) wait(r *run) {
	p.clock++
	r.arrival = p.clock
	if r.parent != nil {
		r.spot = r.parent.queue.PushBack(r)
	}
	p.jobs.join(r)
}

// -- slots that go out

// handOver gives a slot to a run that is in no queue (any more).
func (p *Pool) handOver(r *run, token Token, answer *Answer) {
	r.phase, r.token = InFlight, token
	answer.Granted = append(answer.Granted, Grant{r.id, token})
	if token == PoolToken {
		p.taken++
		p.jobs.charge(r.job, 1)
	} else {
		r.parent.borrower = r
	}
	if r.parent != nil {
		r.spot = r.parent.children.PushBack(r)
	}
}

// grant gives a slot to a waiting run, which leaves both queues in this step (R4).
func (p *Pool) grant(r *run, token Token, answer *Answer) {
	p.unqueue(r, token == PoolToken || faulty(loanMovesLine))
	p.handOver(r, token, answer)
}

// serve hands out the free pool slots one by one, the order asked anew for each (R6, R7, R8).
func (p *Pool) serve(answer *Answer) {
	for p.taken < p.cap {
		waiter := p.jobs.pick()
		if waiter == nil {
			return
		}
		p.grant(waiter, PoolToken, answer)
	}
}

// unqueue takes a waiting run out of both queues.
func (p *Pool) unqueue(r *run, served bool) {
	p.jobs.quit(r, served)
	if r.parent != nil {
		r.parent.queue.Remove(r.spot)
	}
}

// -- slots that come back

// end is R3 for a run in flight. Its children lose their parent, its borrower aside.
func (p *Pool) end(r *run, answer *Answer) {
	for spot := r.queue.Front(); spot != nil; spot = spot.Next() {
		p.orphan(spot.Value.(*run))
	}
	r.queue.Init()
	for spot := r.children.Front(); spot != nil; spot = spot.Next() {
		p.orphan(spot.Value.(*run))
	}
	r.children.Init()
	if r.borrower == nil {
		p.giveBack(r, answer)
		return
	}
	r.phase = Parked
	r.borrower.parent = r
	r.borrower.spot = r.children.PushBack(r.borrower)
}

func (p *Pool) orphan(child *run) {
	if faulty(orphansKeepParent) {
		return
	}
	child.parent, child.spot = nil, nil
}

// giveBack is R4: the slot of a run that has ended, and holds it unlent, goes back to where it came from.
func (p *Pool) giveBack(r *run, answer *Answer) {
	for r.token == LoanToken {
		lender := r.parent
		p.forget(r)
		lender.borrower = nil
		if lender.phase == InFlight {
			p.loanReturned(lender, answer)
			return
		}
		r = lender // parked: it gives its own slot back in turn
	}
	p.returnSlot(r, answer)
	p.forget(r)
}

// loanReturned is an open lender's: its longest-waiting child gets the slot, or (R13) it relends, or it holds it.
func (p *Pool) loanReturned(lender *run, answer *Answer) {
	if first := lender.queue.Front(); first != nil {
		p.grant(first.Value.(*run), LoanToken, answer)
		return
	}
	if first := lender.children.Front(); p.relend && first != nil {
		child := first.Value.(*run) // on a pool slot, as all are: the one on loan has just ended
		child.token = LoanToken
		lender.borrower = child
		answer.Relent = append(answer.Relent, child.id)
		p.returnSlot(child, answer)
	}
}

// returnSlot takes a pool slot back, uncharged before anybody is served (R4).
func (p *Pool) returnSlot(r *run, answer *Answer) {
	p.taken--
	if faulty(chargedLate) {
		defer p.jobs.charge(r.job, -1)
	} else {
		p.jobs.charge(r.job, -1)
	}
	if faulty(grantsOverCap) && p.jobs.pick() != nil {
		p.grant(p.jobs.pick(), PoolToken, answer)
	}
	p.serve(answer)
}

// forget takes a run out of all that the pool remembers.
func (p *Pool) forget(r *run) {
	delete(p.runs, r.id)
	p.jobs.leave(r.job)
	if r.parent != nil && r.phase != Waiting {
		r.parent.children.Remove(r.spot)
	}
}

// -- small parts

// find is a run that is waiting or in flight.
func (p *Pool) find(id string) (*run, error) {
	r := p.runs[id]
	if r == nil || r.phase == Parked && !faulty(parkedNotRefused) {
		return nil, refuse(NotKnown, "run %q is neither waiting nor in flight", id)
	}
	return r, nil
}

func judgeCap(cap int) error {
	if cap < 1 {
		return refuse(BadCap, "a cap is an integer of at least 1, not %d", cap)
	}
	return nil
}

func ids(runs *list.List) []string {
	ids := make([]string, 0, runs.Len())
	for spot := runs.Front(); spot != nil; spot = spot.Next() {
		ids = append(ids, spot.Value.(*run).id)
	}
	return ids
}
