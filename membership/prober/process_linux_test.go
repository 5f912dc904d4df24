package prober

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"crawlnode/membership/consensus"
)

// TestProcessGone looks at a real process: alive, killed but not yet reaped,
// and reaped.
func TestProcessGone(t *testing.T) {
	t.Parallel()
	own := OwnProcess()
	if own.Machine == "" || len(own.Machine) != consensus.MaxMachineBytes || own.PID != os.Getpid() || own.Started == 0 {
		t.Fatalf("this process: %+v", own)
	}
	if gone, known := processGone(own); gone || !known {
		t.Errorf("this process: gone %v, known %v", gone, known)
	}
	earlier := own
	earlier.Started--
	if gone, known := processGone(earlier); !gone || !known {
		t.Errorf("an earlier process with this id: gone %v, known %v", gone, known)
	}
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	stat, err := readStat(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p := consensus.Process{Machine: own.Machine, PID: child.Process.Pid, Started: stat.started}
	if gone, known := processGone(p); gone || !known {
		t.Errorf("a living process: gone %v, known %v", gone, known)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(deathWithin)
	for gone := false; !gone; gone, _ = processGone(p) { // it becomes a zombie: nobody waits for it yet
		if time.Now().After(deadline) {
			t.Fatal("a killed process does not become gone")
		}
		runtime.Gosched()
	}
	child.Wait()
	if gone, known := processGone(p); !gone || !known {
		t.Errorf("a reaped process: gone %v, known %v", gone, known)
	}
}
