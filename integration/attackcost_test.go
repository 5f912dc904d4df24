package integration

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"crawlnode/integration/heldcalls"
)

var (
	attackMiB = flag.Int("attack", 64,
		"what the pages of TestWhatStrangersCost unpack to, in MiB; the attack that it is made after "+
			"has 1024")
	attackBinary = flag.String("attackbinary", "",
		"the program that TestWhatStrangersCost attacks; it then only tells what each attack costs")
)

// bombSite serves pages that unpack to so many MiB, and counts nothing.
func bombSite(t *testing.T, mib int) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	blank := bytes.Repeat([]byte{' '}, 1<<20)
	if _, err := io.WriteString(z, "<title>bomb</title><p>begin"); err != nil {
		t.Fatal(err)
	}
	for range mib {
		if _, err := z.Write(blank); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// peakMemory is the most resident memory that a process had, in bytes; 0 when it has gone.
func peakMemory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		return 0
	}
	return kib << 10
}

// folderSize is what the files in a folder come to, in bytes.
func folderSize(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// TestWhatStrangersCost attacks a node and the verbs that read its archive: with pages that unpack
// to much more than they are, asked for from all sides, and with calls whose messages never end.
// The node stays alive, and nothing takes more than its bound. With -attackbinary and -attack 1024
// it tells what that costs another build.
func TestWhatStrangersCost(t *testing.T) {
	needsProcesses(t)
	const mib, pages = 1 << 20, 4
	site := bombSite(t, *attackMiB)
	frontier := fmt.Sprint("127.0.0.1:", freePort(t))
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "0s", "--frontier-addr", frontier)
	n := c.place()
	n.program = *attackBinary
	n.start()
	n.ready()
	for i := range pages {
		n.seed(fmt.Sprintf("%s/%d", site, i))
	}
	c.finished(time.Minute)
	pid := n.cmd.Process.Pid
	check := func(what string, bytes, most int64) {
		t.Helper()
		if t.Logf("%s: %d MiB", what, bytes/mib); *attackBinary == "" && bytes > most {
			t.Errorf("%s: %d MiB, want at most %d", what, bytes/mib, most/mib)
		}
	}
	alive := func(after string) {
		t.Helper()
		if resp, err := http.Get("http://" + n.http + "/livez"); err != nil {
			t.Errorf("the node is gone after %s: %v", after, err)
		} else {
			_ = resp.Body.Close()
		}
	}
	begun := peakMemory(pid)
	check("the node before", begun, 1<<40)

	var asked sync.WaitGroup
	var refused atomic.Int64
	for i := range 24 {
		asked.Go(func() {
			page := url.QueryEscape(fmt.Sprintf("%s/%d", site, i%pages))
			path := []string{"/archive?url=" + page, "/urls?view=text&url=" + page,
				"/urls?view=page&url=" + page}[i%3]
			r, err := http.NewRequest(http.MethodGet, "http://"+n.http+path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if i >= 12 { // as a picture of a foreign site
				r.Header.Set("Sec-Fetch-Site", "cross-site")
				r.Header.Set("Sec-Fetch-Mode", "no-cors")
				r.Header.Set("Sec-Fetch-Dest", "image")
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusForbidden {
				refused.Add(1)
			}
		})
	}
	asked.Wait()
	alive("asking for archived pages")
	check("row 50, archived pages, four at once and more: the node's peak", peakMemory(pid),
		begun+300*mib)
	if t.Logf("row 50: %d of 12 requests of a foreign site were refused",
		refused.Load()); *attackBinary == "" && refused.Load() != 12 {
		t.Error("not all requests of a foreign site were refused")
	}

	begun = peakMemory(pid)
	var holders []*heldcalls.Client
	for range 6 {
		h, err := heldcalls.Open(frontier, "/urlfrontier.URLFrontier/GetStats", 64, 4*mib)
		if err != nil {
			t.Fatal(err)
		}
		holders = append(holders, h)
	}
	time.Sleep(3 * time.Second) // they send as fast as they may: nothing says that they are done
	alive("calls whose messages do not end")
	check("row 51, 384 calls of 4 MiB without their end: the node's peak", peakMemory(pid),
		begun+64*mib)
	for _, h := range holders {
		h.Close()
	}
	c.stop()

	program := cmp.Or(*attackBinary, binary(t))
	for _, verb := range []struct{ what, args string }{
		{"export files", "export files --data-dir DIR --output OUT/files"},
		{"export jsonl", "export jsonl --data-dir DIR -o OUT/x.jsonl"},
		{"cat", "cat SITE/0 --data-dir DIR"},
		{"warc verify", "warc verify --data-dir DIR"},
	} {
		out := t.TempDir()
		cmd := exec.Command(program,
			strings.Fields(strings.NewReplacer("DIR", n.dir, "OUT", out, "SITE", site).Replace(
				verb.args))...)
		err := cmd.Run()
		t.Logf("row 52, %s: %v", verb.what, err)
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			check("row 52, "+verb.what+": peak", usage.Maxrss<<10, 300*mib)
		}
		check("row 52, "+verb.what+": on the disk", folderSize(out), (pages+2)*10*mib)
	}
	replay := exec.Command(program, "replay", "--listen", fmt.Sprint("127.0.0.1:", freePort(t)), n.dir)
	line, err := replay.StdoutPipe()
	if err == nil {
		err = replay.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 200)
	k, err := line.Read(said)
	at := strings.TrimSpace(strings.TrimPrefix(string(said[:k]), "replay: "))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		asked.Go(func() {
			resp, err := http.Get(fmt.Sprintf("%sweb/%s/%d", at, url.PathEscape(site), i%pages))
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	asked.Wait()
	check("row 52, replay of 8 at once: peak", peakMemory(replay.Process.Pid), 600*mib)
	_ = replay.Process.Signal(syscall.SIGTERM)
	_ = replay.Wait()
}
