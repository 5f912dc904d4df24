package integration

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/frontier"
)

// simDisk is a member's store with the time that a disk takes: who says too soon
// that something is stored is found out when the process dies meanwhile.
type simDisk struct {
	*frontier.Memory
	sync    bool          // --sync: what Write returns for survives a loss of power
	pace    *atomic.Int64 // the longest that one write takes, a time.Duration
	onWrite func()        // called before each write, by the frontier's writer

	mu     sync.Mutex // guards random
	random *rand.Rand
}

func (d *simDisk) Write(entries []frontier.Entry) error {
	d.onWrite()
	d.turn()
	if err := d.Memory.Write(entries); err != nil || !d.sync {
		return err
	}
	return d.Memory.Sync()
}

// LostPower is false when every write was synced.
func (d *simDisk) LostPower() bool { return !d.sync && d.Memory.LostPower() }

func (d *simDisk) Sync() error {
	d.turn()
	return d.Memory.Sync()
}

// turn waits as long as one write takes.
func (d *simDisk) turn() {
	d.mu.Lock()
	part := d.random.Float64()
	d.mu.Unlock()
	if pace := time.Duration(d.pace.Load()); pace > 0 {
		time.Sleep(time.Duration(part * float64(pace)))
	}
}
