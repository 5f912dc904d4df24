package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// needsChromium fails in CI, and leaves the test out elsewhere, when it is not there.
func needsChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-headless-shell", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	unable(t, "needs Chromium, which make deps installs")
	return ""
}

// browserTime is how long a browser may take for a step, and to start: a second on a machine that has
// nothing else to do.
const browserTime = 5 * time.Minute

// tab is a page in a browser of its own, with everything that the browser reports as an error.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex // guards complaints
	complaints []string
}

// browserVariable names the browser in whose place this test binary was started: it becomes the
// browser, without netlink. Chromium ends requests with ERR_NETWORK_CHANGED whenever an address of
// the machine comes or goes, and tests beside this one make networks.
const browserVariable = "CRAWLNODE_TEST_BROWSER"

// throughUs has this test binary start the browser.
func throughUs(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), browserVariable+"="+cmd.Path)
	self, err := os.Executable()
	if err != nil {
		panic(err) // Linux and Darwin know
	}
	cmd.Path = self
}

// openTab starts a browser with an empty profile and more options, which ends with the test.
func openTab(t *testing.T, more ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	path := needsChromium(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.WSURLReadTimeout(browserTime),
		chromedp.ModifyCmdFunc(throughUs), chromedp.UserDataDir(t.TempDir()),
		// as root, in a container
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1360, 900),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true))
	options = append(options, more...)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	b := &tab{t: t, ctx: ctx}
	var listening sync.WaitGroup
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // it may have ended by itself; then a step has failed
		cancel()
		stop()
		listening.Wait()
	})
	// The browser runs as long as the context of the first call.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	listen(b, &listening, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) string {
		return fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
	})
	listen(b, &listening, page.JavascriptDialogOpening,
		func(e page.EventJavascriptDialogOpening) string { return "dialog: " + e.Message })
	listen(b, &listening, log.EntryAdded, func(e log.EventEntryAdded) string {
		if e.Entry.Level != log.EntryLevelError && e.Entry.Level != log.EntryLevelWarning {
			return ""
		}
		return fmt.Sprintf("log: %s (%s)", e.Entry.Text, e.Entry.URL)
	})
	listen(b, &listening, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) string {
		return fmt.Sprintf("console: %s", e.Type)
	})
	return b
}

// listen keeps the errors that the browser reports; "" is none.
func listen[E any](b *tab, wg *sync.WaitGroup, event cdp.Event[E], text func(E) string) {
	events := chromedp.Events(b.ctx, event) // from now on
	wg.Go(func() {
		for e, err := range events {
			if err != nil {
				return
			}
			if complaint := text(e); complaint != "" {
				b.mu.Lock()
				b.complaints = append(b.complaints, complaint)
				b.mu.Unlock()
			}
		}
	})
}

// silent fails when the browser has reported an error since the last call.
func (b *tab) silent(where string) {
	b.t.Helper()
	for _, c := range b.reported() {
		b.t.Errorf("%s: the browser says: %s", where, c)
	}
}

// reported is what the browser has reported as errors since the last call.
func (b *tab) reported() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.complaints
	b.complaints = nil
	return all
}

// do carries steps out, each within browserTime.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for i, step := range steps {
		ctx, cancel := context.WithTimeout(b.ctx, browserTime)
		err := chromedp.Do(ctx, step)
		cancel()
		if err != nil {
			b.t.Fatalf("step %d: %v; the page:\n%.3000s", i+1, err, b.text("body"))
		}
	}
}

// open loads a page.
func (b *tab) open(url string) { b.t.Helper(); b.do(chromedp.Navigate(url)) }

// click presses the mouse over an element, and returns when the page that this leads
// to is there.
func (b *tab) click(selector string) { b.t.Helper(); b.leads(func() { b.press(selector) }) }

// leads presses something until the page that this leads to is there. A click misses when the page
// moves under the mouse, as it does when a line above goes: then it comes again.
func (b *tab) leads(press func()) {
	b.t.Helper()
	const there = `window.before === undefined && document.readyState === "complete"`
	b.js(`window.before = true`, nil)
	for range 3 {
		press()
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(
			25 * time.Millisecond) {
			var ok bool
			if b.eval("!!("+there+")", &ok) == nil && ok { // between two pages there is nothing to ask
				return
			}
		}
		b.t.Logf("the press led nowhere, once more; the page:\n%.3000s", b.text("body"))
	}
	b.await(there)
}

// press is a click that leads to no other page. The page may put a new element in place of the one
// that was found; then it is looked for again.
func (b *tab) press(selector string) {
	b.t.Helper()
	until(b.t, time.Minute, func() string {
		ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
		defer cancel()
		if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
			return fmt.Sprintf("click %s: %v", selector, err)
		}
		return ""
	})
}

// write fills a field in.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS(selector), text))
}

// key presses one key.
func (b *tab) key(k string) { b.t.Helper(); b.do(chromedp.KeyEvent(k)) }

// focus is the text of the element that has the focus.
func (b *tab) focus() (text string) {
	b.t.Helper()
	b.js("document.activeElement.innerText", &text)
	return text
}

// js evaluates an expression, also in a page that may not run scripts.
func (b *tab) js(expression string, into any) {
	b.t.Helper()
	if err := b.eval(expression, into); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

func (b *tab) eval(expression string, into any) error {
	ctx, cancel := context.WithTimeout(b.ctx, browserTime)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("String(JSON.stringify("+expression+"))"))
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal([]byte(text), into)
}

// text is what a reader sees of an element.
func (b *tab) text(selector string) string {
	var text string
	if err := b.eval(fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector),
		&text); err != nil {
		return err.Error()
	}
	return text
}

// await waits for an expression to be true.
func (b *tab) await(expression string) {
	b.t.Helper()
	until(b.t, time.Minute, func() string {
		var ok bool
		if err := b.eval("!!("+expression+")", &ok); err != nil || !ok {
			return fmt.Sprintf("%s: %v; the page:\n%.3000s", expression, err, b.text("body"))
		}
		return ""
	})
}

// scripts lets pages run scripts, or none.
func (b *tab) scripts(on bool) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled,
		emulation.SetScriptExecutionDisabledParams{Value: !on}); err != nil {
		b.t.Fatal(err)
	}
}

// theme is what the system prefers: light or dark.
func (b *tab) theme(name string) {
	b.t.Helper()
	feature := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: name}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{feature},
	}); err != nil {
		b.t.Fatal(err)
	}
}

// picture takes a picture of the whole page.
func (b *tab) picture(dir, name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserTime)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// TestBrowserKeepsItsConnections: a page and its pictures are there, whatever networks are made and
// removed on this machine meanwhile.
func TestBrowserKeepsItsConnections(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	picture, err := base64.StdEncoding.DecodeString(dot)
	if err != nil {
		t.Fatal(err)
	}
	const pictures = 40
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			time.Sleep(10 * time.Millisecond) // as the work of a server, while others wait for a connection
			w.Header().Set("Content-Type", "image/png")
			w.Header().Set("Cache-Control", "no-store")
			_, _ = w.Write(picture)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		for i := range pictures {
			fmt.Fprintf(w, "<img src=%d.png>", i)
		}
	}))
	t.Cleanup(s.Close)
	b := openTab(t)
	var labs sync.WaitGroup
	looking, enough := context.WithCancel(t.Context())
	labs.Go(func() {
		for looking.Err() == nil {
			t.Run("lab", func(t *testing.T) { newLab(t).add() })
		}
	})
	defer labs.Wait()
	defer enough()
	for range 12 {
		if p := b.look(s.URL + "/"); len(p.Missing) > 0 || len(p.Pictures) != pictures {
			t.Errorf("of %d pictures there are %d, without a size %q; the browser reports %q",
				pictures, len(p.Pictures), p.Missing, p.complaints)
			break
		}
	}
}
