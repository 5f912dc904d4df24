package render

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is one process of Chromium with its profile. It starts with its first page.
type browser struct {
	cfg Config
	dir string

	ctx    context.Context // of the browser, over all its tabs
	cancel context.CancelFunc
	start  sync.Once
	err    error // of the start; read after start
	watch  sync.WaitGroup

	mu     sync.Mutex // guards what follows
	group  int        // of its processes; 0 before it has started
	killed bool
	lost   <-chan struct{} // closed when the connection to it has dropped; nil before it has started

	memory atomic.Int64 // of its processes, as watchMemory saw it last

	users, pages int    // guarded by the pool's lock
	idle         []*tab // the oldest first; guarded by the pool's lock, and of end
	worn         bool   // takes no more pages; guarded by the pool's lock
}

func newBrowser(cfg Config, dir string) *browser { return &browser{cfg: cfg, dir: dir} }

// flags are those of a browser that has no network, no window and no service of its vendor.
func (b *browser) flags() []chromedp.ExecAllocatorOption {
	flags := map[string]any{
		"host-resolver-rules": "MAP * ~NOTFOUND", "proxy-server": "http://no-network.invalid:1", "proxy-bypass-list": "<-loopback>",
		"force-webrtc-ip-handling-policy": "disable_non_proxied_udp", "webrtc-ip-handling-policy": "disable_non_proxied_udp",
		"disable-quic": true, "dns-prefetch-disable": true, "no-pings": true, "disable-background-networking": true,
		"disable-component-update": true, "disable-domain-reliability": true, "disable-client-side-phishing-detection": true,
		"disable-sync": true, "disable-default-apps": true, "disable-extensions": true, "safebrowsing-disable-auto-update": true,
		"disable-features":           "Translate,OptimizationHints,MediaRouter,InterestFeedContentSuggestions,DialMediaRouteProvider,PrivateNetworkAccessPermissionPrompt,BackForwardCache,RenderDocument,SpareRendererForSitePerProcess,AcceptCHFrame",
		"disable-back-forward-cache": true, "disable-component-extensions-with-background-pages": true, "disable-field-trial-config": true, "metrics-recording-only": true,
		"block-new-web-contents": true, "deny-permission-prompts": true, "noerrdialogs": true, "disable-breakpad": true,
		"disable-dev-shm-usage": true, "mute-audio": true, "hide-scrollbars": true, "disable-renderer-backgrounding": true,
		"disable-background-timer-throttling": true, "disk-cache-size": 1 << 20, "js-flags": "--max-old-space-size=512",
		"password-store": "basic", "use-mock-keychain": true, "disable-file-system": true,
		"disable-shared-workers": true, // one with a longer life would meet the next page of its tab
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(b.cfg.Browser), chromedp.UserDataDir(filepath.Join(b.dir, "profile")),
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.Headless, chromedp.DisableGPU, chromedp.WindowSize(1280, 1024),
		chromedp.NoInheritEnv, chromedp.Env("HOME="+b.dir, "TMPDIR="+b.dir, "PATH="+os.Getenv("PATH"), "LANG=C.UTF-8"), chromedp.ModifyCmdFunc(contain)}
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
		ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(func(string, ...any) {}), chromedp.WithLogf(func(string, ...any) {}))
		b.ctx, b.cancel = ctx, func() { cancel(); stop() }
		slow := time.AfterFunc(b.cfg.startTime, b.kill)
		defer slow.Stop()
		// The browser runs as long as the context of this call, so that has no time-out of its own.
		if err := chromedp.Do(ctx); err != nil {
			b.err = fmt.Errorf("%w: %s did not start: %w", ErrNotStarted, b.cfg.Browser, err)
			return
		}
		b.mu.Lock()
		b.lost = chromedp.FromContext(ctx).Browser.LostConnection
		b.group = chromedp.FromContext(ctx).Browser.Process().Pid
		b.mu.Unlock()
		b.watch.Go(b.watchMemory)
	})
	return b.err
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
			used := groupMemory(b.pid())
			b.memory.Store(used)
			if used > b.cfg.MemoryBytes {
				b.kill()
				return
			}
		}
	}
}

// pid is 0 before the start.
func (b *browser) pid() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.group
}

// kill ends the processes at once. Calls in progress return an error.
func (b *browser) kill() {
	b.mu.Lock()
	group, again := b.group, b.killed
	b.killed = true
	b.mu.Unlock()
	if group > 0 && !again {
		killGroup(group)
	}
	killUsers(b.dir) // one that is starting, too
}

// dead reports whether the browser takes no more pages: killed, not started, or ended by itself.
func (b *browser) dead() bool {
	b.mu.Lock()
	killed, lost := b.killed, b.lost
	b.mu.Unlock()
	select {
	case <-lost:
		return true // its context ends a moment later
	default:
	}
	return killed || b.err != nil || b.ctx != nil && b.ctx.Err() != nil
}

// end waits for the processes to be gone, and removes the profile.
func (b *browser) end() {
	b.kill()
	if b.cancel != nil {
		b.cancel()
		if c := chromedp.FromContext(b.ctx); c != nil && c.Allocator != nil {
			c.Allocator.Wait()
		}
	}
	for _, t := range b.idle {
		t.end()
	}
	b.watch.Wait()
	_ = os.RemoveAll(b.dir) // what cannot be removed, New removes
}
