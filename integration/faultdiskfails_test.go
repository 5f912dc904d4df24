package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A disk that fails: its file system becomes read-only, or answers with EIO (F14).

// failsWithin is how long a node may go on when its disk fails: it syncs each second.
const failsWithin = 15 * time.Second

// readOnlyDisk: the kernel makes the file system of one node read-only, as ext4 does
// when it finds an error. The node ends by itself; with a good disk it comes back.
func readOnlyDisk(f *trial) {
	f.crawlTo(0.2, 0.5)
	n, since := f.c.nodes[len(f.c.nodes)-1], time.Now()
	system(f.T, "mount", "-o", "remount,abort", f.disk)
	f.failed(n, since, "read-only file system", "input/output error")
	f.repaired()
	n.start()
	n.ready()
	f.lost = nil // it came back
	f.whole(time.Minute)
}

// failingDisk: the disk of one node stores nothing new, and reports that only at a sync. What was
// synced before is there afterwards; the others have the rest.
func failingDisk(f *trial) {
	f.crawlTo(0.2, 0.5)
	n, since := f.c.nodes[len(f.c.nodes)-1], time.Now()
	below := filepath.Dir(f.image)
	ballast := fillDisk(f.T, below, 0)
	f.failed(n, since, "input/output error", "read-only file system", "no space left on device")
	if err := os.Remove(ballast); err != nil {
		f.Fatal(err)
	}
	f.repaired()
	n.start()
	until(f.T, 30*time.Second, func() string {
		select {
		case <-n.done:
			return ""
		default:
		}
		if code, _, err := n.get("/readyz"); err != nil || code != 200 {
			return n.name + " neither serves nor ends with what was left of its store"
		}
		return ""
	})
	select {
	case <-n.done: // the disk has lost what was acknowledged, and the store says which
		if code, out := n.cmd.ProcessState.ExitCode(), tail(n.log, 10); code != 3 ||
			!strings.Contains(out, n.dir) {
			f.Errorf("exit code %d, want 3 and the name of what is damaged:\n%s", code, out)
		}
	default:
		f.whole(time.Minute)
	}
}

// failed waits until a node has ended because its disk fails, and judges how.
func (f *trial) failed(n *node, since time.Time, words ...string) {
	f.Helper()
	code := n.exit(f.T, failsWithin)
	f.Logf("%s ended with exit code %d %.1f s after its disk had failed", n.name, code,
		time.Since(since).Seconds())
	f.excuses = append(f.excuses,
		disturbance{"failed disk of " + n.name, since.Add(-commitWindow), time.Now().Add(time.Second)})
	out := lastWords(n.log)
	says := false
	for _, w := range words {
		says = says || strings.Contains(out, w)
	}
	if code != 3 || !says || strings.Contains(out, "SIGBUS") || strings.Contains(out, "goroutine ") {
		f.Errorf("exit code %d, want 3 and one of %q:\n%s", code, words, out)
	}
}

// repaired checks the file system as an operator would, and mounts it again.
func (f *trial) repaired() {
	f.Helper()
	system(f.T, "umount", f.disk)
	// 1 and 2 say that there was something to repair.
	if out, err := exec.Command("e2fsck", "-f", "-y", f.image).CombinedOutput(); err != nil &&
		!strings.Contains(string(out), "FILE SYSTEM WAS MODIFIED") {
		f.Fatalf("e2fsck: %v\n%s", err, out)
	}
	system(f.T, "mount", "-o", "loop", f.image, f.disk)
}
