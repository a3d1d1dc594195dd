package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"slotlending"
)

const badRequest slotlending.Code = "bad_request"

var features = []string{
	"try_ask", "cancel", "resize", "relend", "jobs", "state", "batch", "served", "oldest", "fifo",
}

// request is one request, its members not yet read. A map and not a struct, since the latter would take any case.
type request map[string]json.RawMessage

// port is one conversation: the pool of the last reset, if there was one.
type port struct{ pool *slotlending.Pool }

// answer is the answer to one line. Whatever the line holds, there is one.
func (p *port) answer(line []byte) []byte {
	answer, err := json.Marshal(told(p.carryOut(line)))
	if err != nil {
		panic(err) // an answer holds nothing that JSON lacks
	}
	return answer
}

// told is an answer, or the refusal in its place.
func told(answer any, err error) any {
	if err == nil {
		return answer
	}
	refusal := &slotlending.Refusal{Code: badRequest, Message: err.Error()}
	errors.As(err, &refusal)
	return map[string]any{"error": map[string]any{"code": refusal.Code, "message": refusal.Message}}
}

func parse(text json.RawMessage) (request, string, error) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, "", err
	}
	op, err := required[string](r, "op")
	return r, op, err
}

func (p *port) carryOut(line []byte) (any, error) {
	r, op, err := parse(line)
	if err != nil {
		return nil, err
	}
	switch op {
	case "hello":
		return map[string]any{"name": "slotlending (Go)", "protocol": 1, "features": features}, nil
	case "batch":
		ops, err := required[[]json.RawMessage](r, "ops")
		if err != nil {
			return nil, err
		}
		answers := make([]any, 0, len(ops))
		for _, text := range ops {
			answers = append(answers, told(p.oneOfBatch(text)))
		}
		return answers, nil
	}
	return p.act(op, r)
}

func (p *port) oneOfBatch(text json.RawMessage) (any, error) {
	r, op, err := parse(text)
	if err != nil {
		return nil, err
	}
	return p.act(op, r)
}

func (p *port) act(op string, r request) (any, error) {
	if op == "reset" {
		return p.reset(r)
	}
	if p.pool == nil {
		return nil, errors.New("there is no pool before the first reset")
	}
	switch op {
	case "ask":
		return ask(p.pool.Ask, r)
	case "try_ask":
		return ask(p.pool.TryAsk, r)
	case "finish":
		return end(p.pool.Finish, r)
	case "cancel":
		return end(p.pool.Cancel, r)
	case "resize":
		cap, err := readCap(r)
		if err != nil {
			return nil, err
		}
		return difference(p.pool.Resize(cap))
	case "state":
		return p.pool.Snapshot(), nil
	}
	return nil, fmt.Errorf("no op %q", op)
}

func (p *port) reset(r request) (any, error) {
	cap, err := readCap(r)
	if err != nil {
		return nil, err
	}
	rules, err := readRules(r)
	if err != nil {
		return nil, err
	}
	pool, err := slotlending.New(cap, rules)
	if err != nil {
		return nil, err
	}
	p.pool = pool
	return difference(slotlending.Answer{}, nil)
}

func ask(ask func(string, ...slotlending.Option) (slotlending.Answer, error), r request) (any, error) {
	run, err := required[string](r, "run")
	if err != nil {
		return nil, err
	}
	parent, err := optional[string](r, "parent")
	if err != nil {
		return nil, err
	}
	job, err := readJob(r)
	if err != nil {
		return nil, err
	}
	var options []slotlending.Option
	if parent != nil {
		options = append(options, slotlending.Under(*parent))
	}
	if job != nil {
		options = append(options, slotlending.In(job...))
	}
	return difference(ask(run, options...))
}

func end(end func(string) (slotlending.Answer, error), r request) (any, error) {
	run, err := required[string](r, "run")
	if err != nil {
		return nil, err
	}
	return difference(end(run))
}

// difference is an answer with lists where Go has nil.
func difference(answer slotlending.Answer, err error) (any, error) {
	if answer.Granted == nil {
		answer.Granted = []slotlending.Grant{}
	}
	if answer.Relent == nil {
		answer.Relent = []string{}
	}
	return answer, err
}

// -- members of a request

// optional is a member, nil if it is absent or null, which is the same.
func optional[T any](r request, name string) (*T, error) {
	text, ok := r[name]
	if !ok || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &value, nil
}

func required[T any](r request, name string) (T, error) {
	value, err := optional[T](r, name)
	if err == nil && value == nil {
		err = fmt.Errorf("%s is missing", name)
	}
	if err != nil {
		var none T
		return none, err
	}
	return *value, nil
}

// readJob is the path that a request names, nil if it names none. A name is a string: null is none.
func readJob(r request) ([]string, error) {
	names, err := optional[[]*string](r, "job")
	if err != nil || names == nil {
		return nil, err
	}
	job := make([]string, 0, len(*names))
	for _, name := range *names {
		if name == nil {
			return nil, errors.New("job is an array of strings")
		}
		job = append(job, *name)
	}
	return job, nil
}

// readCap reads a cap by its text: what is there and is no integer >= 1 is a bad cap, whatever its type.
func readCap(r request) (int, error) {
	text, ok := r["cap"]
	if !ok {
		return 0, errors.New("cap is missing")
	}
	cap, err := strconv.Atoi(string(text))
	if err != nil {
		return 0, &slotlending.Refusal{Code: slotlending.BadCap, Message: "a cap is an integer, not " + string(text)}
	}
	return cap, nil
}

func readRules(r request) (rules slotlending.Rules, err error) {
	order, err := orDefault(r, "order", "fewest_held")
	if err != nil {
		return rules, err
	}
	tie, err := orDefault(r, "tie", "served")
	if err != nil {
		return rules, err
	}
	rules.Relend, err = orDefault(r, "relend", false)
	if err != nil {
		return rules, err
	}
	switch {
	case order == "fifo":
		rules.Order = slotlending.FIFO
	case order == "fewest_held" && tie == "served":
		rules.Order = slotlending.Served
	case order == "fewest_held" && tie == "oldest":
		rules.Order = slotlending.Oldest
	default:
		return rules, fmt.Errorf("no order %q with tie %q", order, tie)
	}
	return rules, nil
}

func orDefault[T any](r request, name string, otherwise T) (T, error) {
	value, err := optional[T](r, name)
	if err != nil || value == nil {
		return otherwise, err
	}
	return *value, nil
}
