//go:build !linux

package prober

import "crawlnode/membership/consensus"

// OwnProcess returns the zero Process: there is no /proc on this system.
func OwnProcess() consensus.Process { return consensus.Process{} }

func processGone(consensus.Process) (gone, known bool) { return false, false }

// follow returns nil: there is no signal of another process's end on this system.
func follow(int) ending { return nil }
