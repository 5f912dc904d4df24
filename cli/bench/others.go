package bench

import (
	"context"
	_ "embed" // of the spider
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

// spider is what Scrapy runs.
//
//go:embed spider.py
var spider []byte

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
	seeds, files, err := b.inputAndOutput()
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(files)
	args := []string{
		"--no-config", "--quiet", "--recursive", "--level=0", "--span-hosts", "--domains=" + b.web.Domain,
		"--tries=1",
		"--http-proxy=http://" + b.web.HTTP, "--max-threads=" + strconv.Itoa(wgetThreads),
		"--directory-prefix=" + files, "--input-file=" + seeds,
	}
	if b.authority != "" { // no files in the home directory
		args = append(args, "--https-proxy=http://"+b.web.HTTP, "--ca-certificate="+b.authority,
			"--no-hsts", "--no-hpkp", "--no-ocsp")
	}
	return b.runOther(ctx, wget2, args)
}

// runScrapy lets Scrapy fetch the web as wget2 does: with robots.txt, no delay, one connection a
// host, the web as its proxy, and each page in a file in memory. It asks for no page twice, keeps
// no state and has one thread.
func (b *run) runScrapy(ctx context.Context) (result measurement, err error) {
	seeds, files, err := b.inputAndOutput()
	if err != nil {
		return result, err
	}
	defer os.RemoveAll(files)
	script := filepath.Join(b.launcher.Dir, "spider.py")
	if err := os.WriteFile(script, spider, 0o644); err != nil {
		return result, err
	}
	b.launcher.Variables = append(b.launcher.Variables, "http_proxy=http://"+b.web.HTTP)
	return b.runOther(ctx, scrapy, []string{"runspider", script, "-a", "seeds=" + seeds, "-a",
		"files=" + files, "-a", "domain=" + b.web.Domain})
}

// inputAndOutput makes the file of seeds and the folder for the pages.
func (b *run) inputAndOutput() (seeds, files string, err error) {
	seeds = filepath.Join(b.launcher.Dir, "seeds")
	if err := os.WriteFile(seeds, []byte(strings.Join(b.web.Seeds, "\n")+"\n"), 0o644); err != nil {
		return "", "", err
	}
	files, err = os.MkdirTemp(memoryDir(b.launcher.Dir), "crawlnode-bench-")
	return seeds, files, err
}

// runOther runs another crawler to its end.
func (b *run) runOther(
	ctx context.Context,
	name string,
	args []string,
) (result measurement, err error) {
	began := time.Now()
	p, err := b.launcher.Start(name, nil, nil, args...)
	if err != nil {
		return result, err
	}
	defer p.Kill()
	select {
	case <-ctx.Done():
		return result, fmt.Errorf("%s has not ended: %w", name, ctx.Err())
	case <-p.Done: // wget2 with an error code after any 404; the web judges what was fetched
	}
	state := p.Cmd.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return result, fmt.Errorf("%s has crashed: %v", name, state)
	}
	result.Seconds = time.Since(began).Seconds()
	// judged divides it
	result.CPUMicrosPerPage = float64((state.UserTime() + state.SystemTime()).Microseconds())
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
