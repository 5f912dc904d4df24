//go:build !race

package main

import (
	"flag"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

var trafficJoins = flag.String("traffic.joins", "3", "numbers of whole nodes for TestJoinsTraffic, with commas between")

// readyWithin is what nodes that start together may take until each partition has its copies, in
// virtual time: their processors are as fast as it needs. What they wait for is what counts.
const readyWithin = 20 * time.Second

// TestJoinsTraffic starts nodes together and counts what it takes until each partition has its
// copies. The processor time is that of the whole process: collections of the common heap are half of it.
func TestJoinsTraffic(t *testing.T) {
	t.Log("| nodes | ready after, virtual s | processor, s | allocated, MB | writes of calls | MB of calls | gossip packets | MB | gossip streams | MB |")
	for _, n := range counts(t, *trafficJoins) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			c := newTown(t, dir, n)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			used, began := processorTime(), time.Now()
			c.run()
			c.await()
			took, used := time.Since(began), processorTime()-used
			runtime.ReadMemStats(&after)
			f := c.m.read()
			t.Logf("| %d | %.1f | %.1f | %d | %d | %.1f | %d | %.1f | %d | %.1f |", n, took.Seconds(), used.Seconds(), (after.TotalAlloc-before.TotalAlloc)>>20,
				f[calls].messages, float64(f[calls].bytes)/1e6, f[packets].messages, float64(f[packets].bytes)/1e6, f[streams].messages, float64(f[streams].bytes)/1e6)
			if took > readyWithin {
				t.Errorf("%d nodes are ready after %v, want %v at most", n, took, readyWithin)
			}
			if f[calls].messages == 0 || f[packets].messages == 0 {
				t.Errorf("nothing is counted of %d nodes", n)
			}
			c.end()
		})
	}
}
