//go:build !linux

package prober

import "crawlnode/membership/consensus"

// OwnProcess returns the zero Process: there is no /proc on this system.
func OwnProcess() consensus.Process { return consensus.Process{} }

func processGone(consensus.Process) (gone, known bool) { return false, false }
