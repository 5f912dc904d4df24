package node

import (
	"fmt"
	"time"

	"crawlnode/local/datadir"
	"crawlnode/local/disk"
	"crawlnode/scheduler"
)

const (
	// stopSlack is what an end may take beyond the time-out of a drain when the disk
	// does not answer. A stop without a drain gets as much: a busy disk is not a dead one.
	stopSlack = 1200 * time.Millisecond
	// deadDisk is how long the disk has not answered then.
	deadDisk = time.Second
)

// awaitEnd waits for the end of runAll. When an end was asked for and its time is up,
// while the disk does not answer, it returns without it: the process is to exit. What
// was acknowledged is on the disk, or was never said to be. On a frozen file system the
// kernel keeps what is left of the process until that has thawed.
func (n *Node) awaitEnd(over <-chan error) error {
	select {
	case err := <-over:
		return err
	case <-n.drain:
	case <-n.stop:
	}
	limit := time.After(n.cfg.DrainTimeout + stopSlack)
	for {
		select {
		case err := <-over:
			return err
		case <-limit:
		}
		if wait, what := n.stalls.Longest(); wait >= deadDisk {
			return n.abandon(wait, what)
		}
		limit = time.After(disk.LookEvery) // it may be slow, or freeze later
	}
}

// abandon closes the listeners, so that no caller takes this node for a running one, and says
// why it ends so. The listener for other nodes is the last, as always.
func (n *Node) abandon(wait time.Duration, what string) error {
	n.closing.Store(true)
	if e := n.engine.Load(); e != nil {
		go e.dispatcher.EndAll(scheduler.ErrNoLease) // it may never return
	}
	_ = n.http.Close()
	_ = n.rpc.Close()
	return datadir.Failed("stop", fmt.Errorf("the disk of %s has not answered for %v (%s waits): "+
		"the node ends without it; the same command resumes once it answers",
		n.dir.Path(), wait.Round(time.Second), what))
}
