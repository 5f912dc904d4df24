package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"syscall"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// rounds is how often each thing is timed, by the processor time of the process,
// which does not count what others on the machine do. The fastest round counts.
const rounds = 5

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("BUG: " + err.Error()) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// printTimes says how long tables and look-ups take, one after the other, and
// what memory that took.
func printTimes(ctx context.Context, out io.Writer, cases []*oneCase) error {
	fmt.Fprintf(out,
		"\nProcessor time, the least of %d. A member builds the table with its replicas for each view.\n",
		rounds)
	fmt.Fprintln(out, "Allocated is what a table with one replica takes while it is built.")
	fmt.Fprintln(out, "\n| nodes | partitions | owners, ms | with one replica, ms | with two, "+
		"ms | allocated, MB | look-up, ns |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for _, c := range cases {
		fmt.Fprintf(out, "| %d | %d |", c.nodes, c.partitions)
		for replicas := range ring.MaxReplicas + 1 {
			took, err := c.timeBuilds(ctx, replicas)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, " %.1f |", float64(took)/float64(time.Millisecond))
		}
		bytes, err := c.allocated()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, " %.1f | %.0f |\n", float64(bytes)/1e6, timeLookups(c.table))
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(out, "\nAll this took %.0f MB from the system at most.\n", float64(m.Sys)/1e6)
	return nil
}

func (c *oneCase) timeBuilds(ctx context.Context, replicas int) (best time.Duration, err error) {
	for i := range rounds {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		began := processorTime()
		if _, err := ring.Build(ring.Equals(c.table.Members()), c.partitions, replicas); err != nil {
			return 0, err
		}
		if took := processorTime() - began; i == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

func (c *oneCase) allocated() (uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ring.Build(ring.Equals(c.table.Members()), c.partitions, 1)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// timeLookups measures the way from a host's name to its owner, in nanoseconds.
func timeLookups(t *ring.Table) float64 {
	hosts := make([]crawl.Host, 1<<12)
	for i := range hosts {
		hosts[i] = crawl.Host(hostName(nil, i))
	}
	const passes = 1 << 6
	best := 0.0
	for round := range rounds {
		found := 0
		began := processorTime()
		for range passes {
			for _, h := range hosts {
				if t.Owner(ring.PartitionOf(h, t.Partitions())) != "" {
					found++
				}
			}
		}
		each := float64(processorTime()-began) / float64(passes*len(hosts))
		if found != passes*len(hosts) {
			panic("BUG: a partition without an owner")
		}
		if round == 0 || each < best {
			best = each
		}
	}
	return best
}
