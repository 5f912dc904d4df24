package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// packages are the browsers that are installed here, by name.
func packages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"chromium", "chromium-headless-shell", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			found[name] = path
		}
	}
	if len(found) == 0 && os.Getenv("CI") != "" {
		t.Fatal("no Chromium (make deps), and CI is set: a missing dependency is a failure")
	}
	if len(found) == 0 {
		t.Skip("needs Chromium: make deps installs it")
	}
	return found
}

// wrappers are scripts that start the browser $B, as packages and users have them. In all of them
// it works, and its own process is found, watched and ended.
var wrappers = map[string]string{
	"none":                           "",
	"exec":                           `exec "$B" "$@"`,
	"without exec":                   `"$B" "$@"`,
	"nested":                         `sh -c 'sh -c "\"\$0\" \"\$@\"; exit \$?" "$0" "$@"; exit $?' "$B" "$@"`,
	"nice":                           `nice -n 1 "$B" "$@"`,
	"timeout":                        `timeout 600 "$B" "$@"; exit $?`,
	"session":                        `setsid -w "$B" "$@"; exit $?`,
	"waits in parallel":              `"$B" "$@" & wait $!`,
	"stays":                          `"$B" "$@" & wait $!; sleep 600`,
	"ends first":                     `"$B" "$@" &`,
	"session of its own, ends first": `setsid "$B" "$@" &`,
	"no environment":                 `env -i PATH="$PATH" HOME="$HOME" "$B" "$@"; exit $?`,
	"no environment, another session, " +
		"ends first": `env -i PATH="$PATH" HOME="$HOME" setsid "$B" "$@" &`,
	"children that stay": `sleep 600 & setsid sleep 600 & "$B" "$@"; wait`,
	// Where the system permits it: what bubblewrap and the like do.
	"process namespace": `unshare --pid --fork true 2>/dev/null || exec "$B" "$@"
unshare --pid --fork "$B" "$@"; exit $?`,
	"process namespace with its " +
		"own /proc": `unshare --pid --fork --mount-proc true 2>/dev/null || exec "$B" "$@"
unshare --pid --fork --mount-proc "$B" "$@"; exit $?`,
}

// wrapped is the path of a browser behind a wrapper.
func wrapped(t *testing.T, path, script string) string {
	t.Helper()
	if script == "" {
		return path
	}
	wrapper := filepath.Join(t.TempDir(), "browser")
	text := fmt.Sprintf("#!/bin/sh\nB=%q\n%s\n", path, script)
	writeProgram(t, wrapper, text)
	return wrapper
}

// traces are the processes that have text anywhere in their command line or environment.
func traces(t *testing.T, text string) (pids []int) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, proc := range list {
		line, _ := os.ReadFile(proc + "/cmdline")
		environment, _ := os.ReadFile(proc + "/environ")
		pid, err := strconv.Atoi(filepath.Base(proc))
		says := bytes.Contains(append(line, environment...), []byte(text))
		if err == nil && pid != os.Getpid() && says {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone waits for processes to end. A zombie has ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			return err != nil || bytes.Contains(status, []byte("\nState:\tZ"))
		})
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			out, _ := exec.Command("ps", "-o", "pid,ppid,pgid,sid,stat,args", "-p",
				strings.Trim(fmt.Sprint(left), "[]")).Output()
			t.Fatalf("processes are left:\n%s", out)
		}
	}
}

// ownOf is the process of the pool's browser as the pool knows it. It is the one that has no part
// of the browser's work (--type), and runs Chromium's own program.
func ownOf(t *testing.T, p *Pool) int {
	t.Helper()
	p.mu.Lock()
	b := p.now
	p.mu.Unlock()
	b.mu.Lock()
	own := b.own
	b.mu.Unlock()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", own))
	if err != nil {
		t.Error(err)
	}
	program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", own))
	part := bytes.Contains(line, []byte("\x00--type="))
	if err != nil || !strings.Contains(filepath.Base(program), "chrom") || part {
		t.Errorf("process %d is %s, %v, with %q: not the browser's own", own, program, err, line)
	}
	return own
}

// tried calls do with each browser behind the given wrappers, and behind the plain ones, as
// Debian's packages have them.
func tried(t *testing.T, do func(t *testing.T, browser string), names ...string) {
	t.Helper()
	first, _ := Find("")
	for name, path := range packages(t) {
		for wrapper, script := range wrappers {
			plain := wrapper == "none" || wrapper == "without exec"
			if !plain && (path != first || !slices.Contains(names, wrapper)) {
				continue
			}
			if testing.Short() && wrapper != "without exec" { // the one that hides the browser
				continue
			}
			t.Run(name+"/"+wrapper, func(t *testing.T) {
				t.Parallel()
				do(t, wrapped(t, path, script))
			})
		}
	}
}

// The browser's own process is killed while it shows a page: the page has an error that says so at
// once, whatever else lives on, nothing of the browser is left, and the next page has a new one.
func TestBrowserKilled(t *testing.T) {
	tried(t, func(t *testing.T, browser string) {
		p := newPool(t, Config{Browser: browser, Timeout: patience})
		var killed time.Time
		var before []int
		_, err := p.Render(t.Context(), htmlPage(`<script src=/a.js></script>`),
			fetcherFunc(func(ctx context.Context, _ Request) (Response, error) {
				before = append(traces(t, p.cfg.Dir), users(p.cfg.Dir)...)
				own := ownOf(t, p)
				killed = time.Now()
				_ = syscall.Kill(own, syscall.SIGKILL)
				<-ctx.Done()
				return Response{}, ctx.Err()
			}))
		t.Logf("noticed after %v; the browser had %d processes", time.Since(killed), len(before))
		if !errors.Is(err, ErrBrowser) {
			t.Errorf("the error is %v, want ErrBrowser", err)
		}
		gone(t, before)
		warm(t, p)
		if s := p.Stats(); s.Restarts != 1 || s.Failed != 1 {
			t.Errorf("counted %+v, want one restart and one failed page", s)
		}
		before = append(traces(t, p.cfg.Dir), users(p.cfg.Dir)...)
		p.Close()
		gone(t, before)
	}, slices.Collect(maps.Keys(wrappers))...)
}

// A browser that is killed while it has no page costs none: the next page has a new one.
func TestIdleBrowserKilled(t *testing.T) {
	tried(t, func(t *testing.T, browser string) {
		p := newPool(t, Config{Browser: browser, Timeout: patience})
		warm(t, p)
		before := append(traces(t, p.cfg.Dir), users(p.cfg.Dir)...)
		_ = syscall.Kill(ownOf(t, p), syscall.SIGKILL)
		gone(t, before)
		warm(t, p)
		if s := p.Stats(); s.Restarts != 1 || s.Failed != 0 || s.Pages != 2 {
			t.Errorf("counted %+v, want one restart and no failed page", s)
		}
	})
}

// A data directory may have a long path. That of a socket is limited by the system.
func TestLongDirectory(t *testing.T) {
	for name, path := range packages(t) {
		for _, length := range []int{maxSocketDir - 1, maxSocketDir, maxSocketDir + 1, 200, 1000} {
			t.Run(fmt.Sprint(name, "/", length), func(t *testing.T) {
				base, err := os.MkdirTemp("", "r") // a short name
				if err != nil {
					t.Fatal(err)
				}
				defer os.RemoveAll(base) //nolint:errcheck // a temporary folder
				for len(base)+len("/p/1")+101 < length {
					base += "/" + strings.Repeat("d", 100)
				}
				base += "/" + strings.Repeat("d", length-len(base)-len("//p/1")) + "/p"
				p, err := New(Config{Browser: path, Dir: base, Timeout: patience, startTime: patience})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				if _, err := p.Render(t.Context(), htmlPage("x"), &site{}); err != nil {
					t.Errorf("in a directory of %d bytes: %v", len(base)+len("/1"), err)
				}
			})
		}
	}
}

// The wrapper is killed while the browser shows a page. The browser goes on, and is ended with the
// pool.
func TestWrapperKilled(t *testing.T) {
	for name, path := range packages(t) {
		t.Run(name, func(t *testing.T) {
			browser := wrapped(t, path, wrappers["without exec"])
			p := newPool(t, Config{Browser: browser, Timeout: patience})
			fetch := fetcherFunc(func(context.Context, Request) (Response, error) {
				p.mu.Lock()
				b := p.now
				p.mu.Unlock()
				b.mu.Lock()
				command := b.command.Pid
				b.mu.Unlock()
				if own := ownOf(t, p); own == command {
					t.Errorf("the wrapper %d is taken for the browser", own)
				}
				_ = syscall.Kill(command, syscall.SIGKILL)
				gone(t, []int{command})
				script := []byte(`document.body.innerHTML = "after it"`)
				return Response{Status: 200, Body: script}, nil
			})
			page := htmlPage(`<body><script src=/a.js></script>`)
			r, err := p.Render(t.Context(), page, fetch)
			if err != nil || !strings.Contains(r.Text, "after it") {
				t.Errorf("shown %q, %v", r.Text, err)
			}
			warm(t, p)
			if s := p.Stats(); s.Restarts+s.Failed != 0 {
				t.Errorf("counted %+v, want the same browser", s)
			}
			before := append(traces(t, p.cfg.Dir), users(p.cfg.Dir)...)
			p.Close()
			gone(t, before)
		})
	}
}

// helperVariable makes the test program a user of a pool with the browser that it names:
// TestHelper.
const helperVariable = "CRAWLNODE_TEST_RENDER_HELPER"

// helper starts the test program once more, by a command before it, as a process that shows pages.
// It returns what that has written up to a line "ready", and what it writes after it.
func helper(t *testing.T, browser, dir string, before ...string) (
	*exec.Cmd, io.WriteCloser, *bufio.Scanner,
) {
	t.Helper()
	argv := append(before, os.Args[0], "-test.run=^TestHelper$", "-test.v")
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), helperVariable+"="+browser, "CRAWLNODE_TEST_RENDER_DIR="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() == "ready" {
			return cmd, in, lines
		}
		t.Log(lines.Text())
	}
	t.Fatal("the other process has ended before it was ready")
	return nil, nil, nil
}

// TestHelper is the other process of helper: it shows a page, waits for a line, has its browser
// killed, shows another page, and says what it has left.
func TestHelper(t *testing.T) {
	browser, ok := os.LookupEnv(helperVariable)
	if !ok {
		return // nobody's other process: the tests that start it judge what it says
	}
	dir := os.Getenv("CRAWLNODE_TEST_RENDER_DIR")
	p, err := New(Config{Browser: browser, Dir: dir, Timeout: patience, startTime: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	warm(t, p)
	fmt.Println("\nready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	_ = syscall.Kill(ownOf(t, p), syscall.SIGKILL)
	warm(t, p)
	p.Close()
	for _, pid := range processes() {
		e, ok := readEntry(pid)
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if ok && e.parent == os.Getpid() {
			fmt.Printf("\nleft: process %d, %s, ended: %v\n", pid, bytes.TrimSpace(name), e.dead)
		}
	}
	fmt.Println("\ndone")
}

// The process that shows pages is killed: its browser ends by itself, behind a wrapper too.
func TestEndsWithItsNode(t *testing.T) {
	tried(t, func(t *testing.T, browser string) {
		dir := t.TempDir() + "/render"
		cmd, _, _ := helper(t, browser, dir)
		before := slices.DeleteFunc(append(traces(t, dir+"/"), users(dir)...), func(pid int) bool {
			return pid == cmd.Process.Pid
		})
		if len(before) < 3 {
			t.Fatalf("the browser has the processes %v", before)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		killed := time.Now()
		// What a wrapper has started beside the browser, the next New ends.
		if strings.Contains(t.Name(), "stay") {
			p, err := New(Config{Browser: browser, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
		}
		gone(t, before)
		t.Logf("gone after %v", time.Since(killed))
	}, "ends first", "children that stay", "no environment, another session, ends first")
}

// In a container the process may be process 1, the parent of all whose own has ended: no zombie is
// left.
func TestReapsAsFirstProcess(t *testing.T) {
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	try := exec.Command(unshare[0], append(unshare[1:], "true")...) //nolint:gosec // constant
	if out, err := try.CombinedOutput(); err != nil {
		if os.Geteuid() == 0 && os.Getenv("CI") != "" {
			t.Fatalf("no process namespace can be made: %v: %s", err, out)
		}
		t.Skipf("a process namespace needs root: %v: %s", err, out)
	}
	tried(t, func(t *testing.T, browser string) {
		_, in, lines := helper(t, browser, t.TempDir()+"/render", unshare...)
		if _, err := fmt.Fprintln(in); err != nil {
			t.Fatal(err)
		}
		done := false
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "left:") || strings.Contains(lines.Text(), "FAIL") {
				t.Error(lines.Text())
			}
			done = done || lines.Text() == "done"
		}
		if !done {
			t.Error("the other process has not come to its end")
		}
	}, "ends first", "children that stay", "no environment, another session, ends first")
}
