package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"

	"crawlnode/cli/command"
)

// heapEvery is how often a profiled node writes its heap profile. The last one
// that stands there is of a node at work, not of one that has let everything go.
const heapEvery = 2 * time.Second

// blockEvery is the time blocked, in nanoseconds, for which one event is sampled.
const blockEvery = 10_000

// profiling is the hidden flag of the verbs that can be profiled.
type profiling struct {
	Profile string `hidden:"" placeholder:"DIR" help:"Write the node's cpu.pprof, heap.pprof, allocs.pprof and block.pprof into DIR."`
}

// measuring is the hidden flag of a node whose cost is taken apart.
type measuring struct {
	Bare bool `hidden:"" help:"No fingerprints of texts and no index of captures, to see what they cost."`
}

// start begins to profile this process, if that is wanted. stop must be called,
// once; it writes the files and says what went wrong with any of them.
func (p *profiling) start() (stop func() error, err error) {
	if p.Profile == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(p.Profile, 0o755); err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	cpu, err := os.Create(filepath.Join(p.Profile, "cpu.pprof"))
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(fmt.Errorf("--profile: %w", err), cpu.Close())
	}
	runtime.SetBlockProfileRate(blockEvery)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for command.Pause(ctx, heapEvery) {
			_ = p.write("heap") // the next one may succeed
		}
	})
	return func() error {
		cancel()
		wg.Wait()
		pprof.StopCPUProfile()
		runtime.SetBlockProfileRate(0)
		runtime.GC() // the runtime's profile of allocations is as old as
		runtime.GC() // the collection before the last one
		return errors.Join(cpu.Close(), p.write("allocs"), p.write("block"))
	}, nil
}

// write writes one of the runtime's own profiles.
func (p *profiling) write(name string) error {
	f, err := os.Create(filepath.Join(p.Profile, name+".pprof"))
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup(name).WriteTo(f, 0), f.Close())
}
