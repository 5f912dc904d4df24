package prober

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership/consensus"
)

// TestFollow: the end of a process is signalled, and close ends the wait for it.
func TestFollow(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("pidfd_open is Linux's")
	}
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer child.Process.Kill()
	left, killed := follow(child.Process.Pid), follow(child.Process.Pid)
	if left == nil || killed == nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this system has no pidfd_open, and CI is set: there everything that can run has to")
		}
		t.Skip("this system has no pidfd_open")
	}
	await := func(e ending) chan struct{} {
		over := make(chan struct{})
		go func() {
			e.await()
			close(over)
		}()
		return over
	}
	closed, ended := await(left), await(killed)
	left.close()
	left.close()
	awaitOver(t, "a closed one", closed)
	select {
	case <-ended:
		t.Error("a living process has ended")
	default:
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitOver(t, "a killed one", ended)
	if late := follow(child.Process.Pid); late != nil { // it is a zombie: nobody has waited for it
		awaitOver(t, "one that ended before", await(late))
	}
}

func awaitOver(t *testing.T, what string, over chan struct{}) {
	t.Helper()
	select {
	case <-over:
	case <-time.After(deathWithin):
		t.Fatalf("the wait for %s does not end", what)
	}
}

// fakeEnding ends when the test says so.
type fakeEnding struct {
	over   chan struct{}
	closed atomic.Bool
}

func (f *fakeEnding) await() { <-f.over }

func (f *fakeEnding) close() {
	if !f.closed.Swap(true) {
		close(f.over)
	}
}

// TestFollowedProcessIsNotLookedAt: a process whose end is signalled is looked at seldom, and at once when it ends. If it
// cannot be seen then that it is gone, it is looked at often.
func TestFollowedProcessIsNotLookedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		var gone atomic.Bool
		f := &fakeEnding{over: make(chan struct{})}
		p := New(consensus.Process{}, nil, func(consensus.Member) (bool, bool) {
			looks.Add(1)
			return gone.Load(), gone.Load()
		})
		p.follow = func(consensus.Member) ending { return f }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); p.Run(ctx) }()
		p.Watch([]Target{{consensus.Member{ID: "b", Boot: 3}, false}})
		time.Sleep(time.Minute)
		synctest.Wait()
		if looks.Load() > 8 {
			t.Errorf("%d looks in a minute at a process whose end is signalled", looks.Load())
		}
		before := looks.Load()
		f.close()
		synctest.Wait()
		if looks.Load() == before {
			t.Error("a process that ended is not looked at")
		}
		time.Sleep(time.Second)
		gone.Store(true)
		ended := time.Now()
		proof := <-p.Proofs
		if proof != (consensus.Dead{ID: "b", Boot: 3}) || time.Since(ended) > processEvery {
			t.Errorf("proof of %+v after %v", proof, time.Since(ended))
		}
		cancel()
		<-done
	})
}

// TestFollowEnds: the wait for a process ends when it is no target any more, or has another boot, and with Run.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made []*fakeEnding
		p := New(consensus.Process{}, nil, func(consensus.Member) (bool, bool) { return false, true })
		p.follow = func(consensus.Member) ending {
			made = append(made, &fakeEnding{over: make(chan struct{})})
			return made[len(made)-1]
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); p.Run(ctx) }()
		watch := func(ids ...crawl.NodeID) {
			var ts []Target
			for i, id := range ids {
				ts = append(ts, Target{consensus.Member{ID: id, Boot: crawl.Boot(i)}, false})
			}
			p.Watch(ts)
			synctest.Wait()
		}
		watch("b", "c")
		watch("c") // its boot is another one
		if len(made) != 3 || !made[0].closed.Load() || !made[1].closed.Load() || made[2].closed.Load() {
			t.Errorf("%d processes were followed", len(made))
		}
		cancel()
		<-done
		if !made[len(made)-1].closed.Load() {
			t.Error("a process is followed after the end")
		}
	})
}
