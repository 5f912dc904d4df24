package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// wgetThreads is how many connections wget2 has at most. Its default is 5; ten keep
// two processors busy and cost no more per page.
const wgetThreads = 10

// runWget lets wget2 fetch the web, recursively, with robots.txt and its other
// defaults. The web is its proxy, since it cannot ask another name server; the
// connections are those it would have to the hosts: with https version 1.99 sends
// a proxy no CONNECT, and shakes hands with it at once. Its processor time is that of
// its whole life. The number of pages is left to the web.
//
// Its files go to memory: 20,000 files in the folders of a disk that still digests
// those of the run before cost it up to five times as much in the system, and what
// is compared is a crawler, not a file system. crawlnode's stay on the disk.
func (b *run) runWget(ctx context.Context) (result measurement, err error) {
	seeds := filepath.Join(b.launcher.Dir, "seeds")
	if err := os.WriteFile(seeds, []byte(strings.Join(b.web.Seeds, "\n")+"\n"), 0o644); err != nil {
		return result, err
	}
	files, err := os.MkdirTemp(memoryDir(b.launcher.Dir), "wget2-")
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(files)
	began := time.Now()
	args := []string{
		"--no-config", "--quiet", "--recursive", "--level=0", "--span-hosts", "--domains=" + b.web.Domain, "--tries=1",
		"--http-proxy=http://" + b.web.HTTP, "--max-threads=" + strconv.Itoa(wgetThreads),
		"--directory-prefix=" + files, "--input-file=" + seeds,
	}
	if b.authority != "" { // no files in the home directory
		args = append(args, "--https-proxy=http://"+b.web.HTTP, "--ca-certificate="+b.authority, "--no-hsts", "--no-hpkp", "--no-ocsp")
	}
	p, err := b.launcher.Start("wget2", nil, nil, args...)
	if err != nil {
		return result, err
	}
	defer p.Kill()
	select {
	case <-ctx.Done():
		return result, fmt.Errorf("wget2 has not ended: %w", ctx.Err())
	case <-p.Done: // with an error code after any 404; the web judges what it has fetched
	}
	state := p.Cmd.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return result, fmt.Errorf("wget2 has crashed: %v", state)
	}
	result.Seconds = time.Since(began).Seconds()
	result.CPUMicrosPerPage = float64((state.UserTime() + state.SystemTime()).Microseconds()) // judged divides it
	return result, nil
}

// memoryDir is where files cost no disk, or fallback where there is no such place.
func memoryDir(fallback string) string {
	const shared = "/dev/shm" // tmpfs on every Linux with glibc
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return fallback
}
