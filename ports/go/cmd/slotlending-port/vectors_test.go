package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestVectors gives the adapter the lines of the conformance vectors, and compares its answers with theirs.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../../../vectors/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var port port
		for number, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			var vector struct{ Expect any }
			if err := json.Unmarshal(line, &vector); err != nil {
				t.Fatal(err)
			}
			var answer any
			if err := json.Unmarshal(port.answer(line), &answer); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(compared(answer), compared(vector.Expect)) {
				t.Fatalf("%s, line %d: %s\nanswered %v", file, number+1, line, answer)
			}
		}
	}
}

// compared is what counts of an answer: of a refusal its code, of a greeting the protocol, of lines their set.
func compared(answer any) any {
	if list, ok := answer.([]any); ok {
		for i, one := range list {
			list[i] = compared(one)
		}
		return list
	}
	members, ok := answer.(map[string]any)
	if !ok {
		return answer
	}
	if refusal, ok := members["error"].(map[string]any); ok {
		return refusal["code"]
	}
	if protocol, ok := members["protocol"]; ok {
		return protocol
	}
	if children, ok := members["children"].(map[string]any); ok {
		for run, runs := range children {
			if len(runs.([]any)) == 0 {
				delete(children, run)
			}
		}
	}
	if lines, ok := members["lines"].([]any); ok {
		lines = slices.DeleteFunc(lines, func(line any) bool { return len(line.(map[string]any)["line"].([]any)) == 0 })
		node := func(line any) string {
			text, _ := json.Marshal(line.(map[string]any)["node"])
			return string(text)
		}
		slices.SortFunc(lines, func(a, b any) int { return cmp.Compare(node(a), node(b)) })
		members["lines"] = lines
	}
	return members
}
