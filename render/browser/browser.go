package browser

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/systeminfo"
	"github.com/chromedp/chromedp"
)

// browser is one Chromium with its profile. It starts with its first page.
//
// The command that starts it may be a wrapper that waits for the browser, or ends before it. So the
// browser is asked for its own process: that is watched, and ended with all of its family.
type browser struct {
	cfg Config
	dir string

	ctx    context.Context // of the browser, over all its tabs
	cancel context.CancelFunc
	start  sync.Once
	err    error // of the start; read after start
	watch  sync.WaitGroup

	mu      sync.Mutex   // guards what follows
	command *os.Process  // that has started it; nil before
	own     int          // process of the browser; 0 before the start, and when it has ended
	groups  map[int]bool // of its processes, as far as they are known
	killed  bool
	lost    <-chan struct{} // closed when the connection to it has dropped; nil before it has started

	memory atomic.Int64 // of its processes, as watchMemory saw it last

	users, pages int    // guarded by the pool's lock
	idle         []*tab // the oldest first; guarded by the pool's lock, and of end
	worn         bool   // takes no more pages; guarded by the pool's lock
}

func newBrowser(cfg Config, dir string) *browser {
	return &browser{cfg: cfg, dir: dir, groups: map[int]bool{}}
}

// maxSocketDir is how long a folder may be in which Chromium makes its socket: the address of one
// has 107 bytes, of which it needs 46 itself (/org.chromium.Chromium.XXXXXX/SingletonSocket). It
// does not start with a longer one.
const maxSocketDir = 107 - 46

// temporary is the folder for the browser's temporary files: its own, by a short name if that is
// too long.
func (b *browser) temporary() string {
	if len(b.dir) <= maxSocketDir {
		return b.dir
	}
	return "/proc/self/cwd"
}

// flags are those of a browser that has no network, no window and no service of its vendor.
func (b *browser) flags() []chromedp.ExecAllocatorOption {
	flags := map[string]any{
		"host-resolver-rules": "MAP * ~NOTFOUND", "proxy-server": "http://no-network.invalid:1",
		"proxy-bypass-list":               "<-loopback>",
		"force-webrtc-ip-handling-policy": "disable_non_proxied_udp", "webrtc-ip-handling-policy": "disable_non_proxied_udp",
		"disable-quic": true, "dns-prefetch-disable": true, "no-pings": true,
		"disable-background-networking": true,
		"disable-component-update":      true, "disable-domain-reliability": true, "disable-client-side-phishing-detection": true,
		"disable-sync": true, "disable-default-apps": true, "disable-extensions": true,
		"safebrowsing-disable-auto-update":                   true,
		"disable-features":                                   "Translate,OptimizationHints,MediaRouter,InterestFeedContentSuggestions,DialMediaRouteProvider,PrivateNetworkAccessPermissionPrompt,BackForwardCache,RenderDocument,SpareRendererForSitePerProcess,AcceptCHFrame",
		"disable-back-forward-cache":                         true,
		"disable-component-extensions-with-background-pages": true, "disable-field-trial-config": true,
		"metrics-recording-only": true,
		"block-new-web-contents": true, "deny-permission-prompts": true, "noerrdialogs": true,
		"disable-breakpad":      true,
		"disable-dev-shm-usage": true, "mute-audio": true, "hide-scrollbars": true,
		"disable-renderer-backgrounding":      true,
		"disable-background-timer-throttling": true, "disk-cache-size": 1 << 20,
		"js-flags":       "--max-old-space-size=512",
		"password-store": "basic", "use-mock-keychain": true, "disable-file-system": true,
		"disable-shared-workers": true, // one with a longer life would meet the next page of its tab
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(b.cfg.Browser),
		chromedp.UserDataDir(filepath.Join(b.dir, "profile")),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU,
		chromedp.WindowSize(1280, 1024),
		chromedp.NoInheritEnv, chromedp.Env("HOME="+b.dir, "TMPDIR="+b.temporary(),
			"PATH="+os.Getenv("PATH"), "LANG=C.UTF-8", profileVariable+"="+filepath.Join(b.dir, "profile")),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			contain(cmd)
			cmd.Dir = b.dir // see temporary
		})}
	if os.Geteuid() == 0 { // Chromium refuses its sandbox as root
		options = append(options, chromedp.NoSandbox)
	}
	for name, value := range flags {
		if n, ok := value.(int); ok {
			value = fmt.Sprint(n)
		}
		options = append(options, chromedp.Flag(name, value))
	}
	return options
}

// ensure starts the browser, once.
func (b *browser) ensure() error {
	b.start.Do(func() {
		if b.err = os.MkdirAll(b.dir, 0o700); b.err != nil {
			return
		}
		alloc, stop := chromedp.NewExecAllocator(context.Background(), b.flags()...)
		ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}),
			chromedp.WithLogf(func(string, ...any) {}))
		b.ctx, b.cancel = ctx, func() { cancel(); stop() }
		slow := time.AfterFunc(b.cfg.startTime, b.kill)
		defer slow.Stop()
		// The browser runs as long as the context of this call, so that has no time-out of its own.
		if err := chromedp.Do(ctx); err != nil {
			b.err = fmt.Errorf("%w: %s did not start: %w", ErrNotStarted, b.cfg.Browser, err)
			return
		}
		if err := b.find(); err != nil {
			b.err = fmt.Errorf("%w: %s ended at once: %w", ErrNotStarted, b.cfg.Browser, err)
		}
	})
	return b.err
}

// find asks the browser for its own process, and has that watched from now on.
func (b *browser) find() error {
	started := chromedp.FromContext(b.ctx).Browser
	b.mu.Lock()
	b.command, b.lost = started.Process(), started.LostConnection
	b.mu.Unlock()
	// One that does not know the question, or ends meanwhile, is taken for the command.
	info, _ := chromedp.CallBrowser(b.ctx, systeminfo.GetProcessInfo, cdp.Empty{})
	all := family(b.dir, started.Process().Pid)
	pid := started.Process().Pid // unless another one is the browser
	for _, p := range info.ProcessInfo {
		if found := ownProcess(int(p.ID), all); p.Type == "browser" && found > 0 {
			pid = found
		}
	}
	own, err := openProcess(pid)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.own = pid
	maps.Copy(b.groups, groupsOf(all))
	b.mu.Unlock()
	b.watch.Go(func() { b.watchOwn(own) })
	b.watch.Go(b.watchMemory)
	return nil
}

// watchOwn ends the browser's family when its own process has ended: a wrapper and what the browser
// has started may live on, and hold the pipes to it open.
func (b *browser) watchOwn(own *process) {
	defer own.close()
	if !own.await(b.ctx) {
		return
	}
	b.mu.Lock()
	b.own = 0
	b.mu.Unlock()
	b.kill()
}

// watchMemory kills the browser when its processes need more memory than they may.
func (b *browser) watchMemory() {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-tick.C:
			b.mu.Lock()
			groups := maps.Clone(b.groups)
			b.mu.Unlock()
			used := groupsMemory(groups)
			b.memory.Store(used)
			if used > b.cfg.MemoryBytes {
				b.kill()
				return
			}
		}
	}
}

// kill ends the processes at once. Calls in progress return an error.
func (b *browser) kill() {
	b.mu.Lock()
	b.killed = true
	var roots []int
	if b.own > 0 {
		roots = append(roots, b.own)
	}
	// The id of a command that somebody has waited for may be that of another process by now.
	if b.command != nil && b.command.Signal(syscall.Signal(0)) == nil {
		roots = append(roots, b.command.Pid)
	}
	b.mu.Unlock()
	groups := killFamily(b.dir, roots...) // also one that is starting
	b.mu.Lock()
	maps.Copy(b.groups, groups)
	b.mu.Unlock()
}

// dead reports whether the browser takes no more pages: killed, not started, or ended by itself.
func (b *browser) dead() bool {
	return b.lostOrKilled() || b.err != nil || b.ctx != nil && b.ctx.Err() != nil
}

// lostOrKilled is what can be asked at any time, also while the browser starts.
func (b *browser) lostOrKilled() bool {
	b.mu.Lock()
	killed, lost := b.killed, b.lost
	b.mu.Unlock()
	select {
	case <-lost:
		return true // its context ends a moment later
	default:
		return killed
	}
}

// killUntil calls kill again and again until wait returns. On a machine without processor time one
// kill may miss a process that was just being made. That holds the pipes of the browser open, so
// the allocator waits for it, and a slot of the pool with it.
func killUntil(kill, wait func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait()
	}()
	tick := time.NewTicker(endTime)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			kill()
		}
	}
}

// end waits for the processes to be gone, and removes the profile.
func (b *browser) end() {
	b.kill()
	if b.cancel != nil {
		b.cancel()
		if c := chromedp.FromContext(b.ctx); c != nil && c.Allocator != nil {
			killUntil(b.kill, c.Allocator.Wait)
		}
	}
	for _, t := range b.idle {
		t.end()
	}
	b.watch.Wait()
	b.mu.Lock()
	groups := maps.Clone(b.groups)
	b.mu.Unlock()
	reap(groups)            // not of the command: the allocator has waited for it
	_ = os.RemoveAll(b.dir) // what cannot be removed, New removes
}
