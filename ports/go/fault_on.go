//go:build faults

package slotlending

import "os"

var chosen = fault(os.Getenv("SLOTLENDING_FAULT"))

func faulty(name fault) bool { return name == chosen }
