package integration

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// flippedBit flips one bit in a file of a killed node's store and starts the node again. Either it
// reports the file, at once or when it comes to verify it, and the others take over, or it repairs
// itself. Nothing is missing in the end.
func flippedBit(f *trial) {
	f.crawlTo(0.2, 0.6)
	n := f.pick()
	f.kill(n)
	file := f.flip(n)
	n.start()
	refused := false
	until(f.T, 30*time.Second, func() string {
		select {
		case <-n.done:
			refused = true
			return ""
		default:
		}
		if code, _, err := n.get("/readyz"); err != nil || code != 200 {
			return fmt.Sprintf("%s neither serves nor ends with %s damaged: %d, %v", n.name, file, code, err)
		}
		if _, err := os.Stat(filepath.Join(n.dir, "frontier", "MISTRUST")); err == nil {
			return fmt.Sprintf("%s has not verified its tables", n.name)
		}
		return ""
	})
	if !refused {
		f.lost = nil // it came back
		f.Logf("%s serves in spite of a flipped bit in %s", n.name, file)
		return
	}
	out := tail(n.log, 30)
	if strings.Contains(out, "SIGBUS") || strings.Contains(out, "goroutine ") {
		f.Errorf("%s crashed on %s instead of refusing it:\n%s", n.name, file, out)
	}
	if code := n.cmd.ProcessState.ExitCode(); code != 3 ||
		!strings.Contains(out, filepath.Base(file)) && !strings.Contains(out, n.dir) {
		f.Errorf("%s: exit code %d, want 3 and the name of %s:\n%s", n.name, code, file, out)
	}
}

// flip flips one bit in the used part of a random store file and returns its path.
func (f *trial) flip(n *node) string {
	f.Helper()
	var files []string
	err := filepath.WalkDir(n.dir, func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); err == nil &&
			(strings.HasSuffix(name, ".mem") || strings.HasSuffix(name, ".sst") || name == "MANIFEST") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		f.Fatalf("no store files under %s: %v", n.dir, err)
	}
	path := files[f.random.IntN(len(files))]
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	used := len(strings.TrimRight(string(content), "\x00"))
	if used == 0 {
		f.Fatalf("%s is empty", path)
	}
	// The middle half: a flipped bit at the end could look like a torn write.
	offset := used/4 + f.random.IntN(used/2+1)
	content[offset] ^= 1 << f.random.IntN(8)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		f.Fatal(err)
	}
	f.Logf("flipped a bit at %d of %d in %s", offset, used, path)
	return path
}

// needsRoot leaves a test out where it may not change the system, and fails in CI.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	unable(t, "needs root: it mounts file systems or makes network namespaces")
}

// smallDisk mounts a file system of its own, in memory, for the time of the test.
func smallDisk(t *testing.T, path string, bytes int64) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := mountMemory(path, fmt.Sprint("size=", bytes), false, false); err != nil {
		t.Fatalf("mounting a file system of %d bytes at %s: %v", bytes, path, err)
	}
	t.Cleanup(func() {
		if err := unmount(path); err != nil {
			t.Errorf("unmounting %s: %v", path, err)
		}
	})
}

// fillDisk writes a file until so many bytes are left free, and returns its path.
func fillDisk(t *testing.T, dir string, left int64) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 1<<20)
	for {
		var s syscall.Statfs_t
		if err := syscall.Statfs(dir, &s); err != nil {
			t.Fatal(err)
		}
		free := int64(s.Bavail) * int64(s.Bsize)
		if free <= left {
			return path
		}
		n, err := file.Write(block[:min(int64(len(block)), free-left)])
		if errors.Is(err, syscall.ENOSPC) || err == nil && n == 0 {
			return path
		}
		if err != nil && !errors.Is(err, io.ErrShortWrite) {
			t.Fatal(err)
		}
	}
}

// A node whose disk fills up pauses and reports it, keeps running without a free byte, and resumes
// when there is space again.
func TestDiskFillsUp(t *testing.T) {
	needsProcesses(t)
	needsRoot(t)
	t.Parallel()
	f := newTrial(t, &scenario{name: "disk-fills-up"}, testSeed(t))
	t.Logf(
		"repeat with CRAWLNODE_TEST_SEED=%d go test ./integration -count=1 -v -run '^TestDiskFillsUp$'",
		f.seed)
	f.add().ready()
	f.add().ready()
	n := f.c.place("--dns", f.srv.Doors[2].String(), "--join", f.c.nodes[0].gossip)
	disk := filepath.Join(f.c.dir, "disk")
	smallDisk(t, disk, 512<<20)
	n.dir = filepath.Join(disk, n.name)
	n.start()
	n.ready()
	f.whole(time.Minute)
	f.seedAll(f.c.nodes[0])
	f.crawlTo(0.1, 0.3)

	ballast := fillDisk(t, disk, 60<<20)
	until(t, 30*time.Second, func() string {
		if s, err := n.status(); err != nil || !s.explains("low_disk") {
			return fmt.Sprintf("%s does not say low_disk: %+v, %v", n.name, s.Cluster.Health, err)
		}
		return ""
	})
	fillDisk(t, disk, 0)
	time.Sleep(5 * time.Second)
	select {
	case <-n.done:
		t.Fatalf("%s ended on a full disk:\n%s", n.name, lastWords(n.log))
	default:
	}
	if s, err := f.c.nodes[0].status(); err != nil || s.Crawl.State == "finished" {
		t.Errorf("the crawl is %q while a node waits for space (%v)", s.Crawl.State, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	f.c.finished(3 * time.Minute)
	f.judge()
	f.c.kill()
}

// A node that is started on a full disk, or on one that is too small, says so and ends.
func TestStartOnAFullDisk(t *testing.T) {
	needsProcesses(t)
	needsRoot(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	for _, tc := range []struct{ size, left int64 }{{16 << 20, 0}, {40 << 20, 40 << 20}} {
		n := c.place()
		disk := filepath.Join(c.dir, "disk-of-"+n.name)
		smallDisk(t, disk, tc.size)
		fillDisk(t, disk, tc.left)
		n.dir = filepath.Join(disk, n.name)
		n.start()
		code, out := n.exit(t, 30*time.Second), tail(n.log, 40)
		if code != 6 || !strings.Contains(out, "space") || strings.Contains(out, "goroutine ") ||
			strings.Contains(out, "SIGBUS") {
			t.Errorf(
				"exit code %d on a disk of %d MiB, %d of them free, want 6 and a message that says space:\n%s",
				code, tc.size>>20, tc.left>>20, out)
		}
	}
}

// A node whose data lie on a read-only file system, or were written by a newer
// crawlnode, says so and ends; the data stay as they are.
func TestDataThatCannotBeUsed(t *testing.T) {
	needsProcesses(t)
	needsRoot(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	n := c.place()
	disk := filepath.Join(c.dir, "disk")
	smallDisk(t, disk, 512<<20)
	n.dir = filepath.Join(disk, n.name)
	n.start()
	n.ready()
	c.stop()

	refuses := func(word string) {
		t.Helper()
		n.start()
		code, out := n.exit(t, 30*time.Second), tail(n.log, 10)
		if code != 3 || !strings.Contains(out, word) || !strings.Contains(out, n.dir) ||
			strings.Contains(out, "goroutine ") {
			t.Errorf("exit code %d, want 3 and a message with %q and the directory:\n%s", code, word, out)
		}
	}
	remount := func(readOnly bool) {
		t.Helper()
		if err := mountMemory(disk, "", true, readOnly); err != nil {
			t.Fatal(err)
		}
	}
	remount(true)
	refuses("read-only file system")
	remount(false)

	version := filepath.Join(n.dir, "VERSION")
	old, err := os.ReadFile(version)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(version, []byte("crawlnode-data 99\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	refuses("newer crawlnode")
	if err := os.WriteFile(version, old, 0o644); err != nil {
		t.Fatal(err)
	}
	n.start()
	n.ready()
	c.stop()
}

// A node whose data directory is deleted comes back as a new one under its name, as soon as the
// others have excluded the old one.
func TestDataDirectoryDeleted(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	c.addReady(3)
	c.converged(2 * time.Minute) // beside other tests
	n := c.nodes[1]
	n.signal(syscall.SIGKILL)
	n.exit(t, 10*time.Second)
	if err := os.RemoveAll(n.dir); err != nil {
		t.Fatal(err)
	}
	c.converged(time.Minute)
	n.start()
	n.ready()
	c.converged(time.Minute)
	c.stop()
}

// A data directory of another cluster is refused, by name, before the node contacts other nodes.
func TestDataDirectoryOfAnotherCluster(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	c := newCluster(t, "--allow-net", "127.0.0.0/8")
	c.addReady(1)
	other := newCluster(t, "--allow-net", "127.0.0.0/8", "--cluster", "other")
	other.addReady(1)
	other.stop()
	code, stdout, stderr := run(t, "", "start", "--name", "n1", "--data-dir", other.nodes[0].dir,
		"--allow-net", "127.0.0.0/8",
		"--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc", "127.0.0.1:0", "--join",
		c.nodes[0].gossip)
	if code <= 0 || !strings.Contains(stderr, `"other"`) ||
		!strings.Contains(stderr, other.nodes[0].dir) {
		t.Errorf("exit code %d, want an error that names the directory and its cluster\n%s%s", code,
			stdout, stderr)
	}
	alone(t, c.nodes[0])
	c.stop()
}
