//go:build !faults

package slotlending

func faulty(fault) bool { return false }
