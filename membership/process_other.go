//go:build !linux

package membership

import "crawlnode/membership/consensus"

// ownProcess: other systems do not tell it in the same way.
func ownProcess() consensus.Process { return consensus.Process{} }

func processGone(consensus.Process) (gone, known bool) { return false, false }
