package integration

import (
	"crypto/sha1"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// listening is a listener that counts who connects to it.
type listening struct {
	addr  string
	heard atomic.Int64
}

func newListening(t *testing.T) *listening {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &listening{addr: l.Addr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.heard.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return c
}

// connectingPages are those that package rewrite is tested with.
func connectingPages(t *testing.T) (pages []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "web", "rewrite", "testdata", "hostile.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		page, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	return pages
}

// archived writes an archive with an answer for each head and body, and returns its folder.
func archived(t *testing.T, answers [][2]string) string {
	t.Helper()
	dir := t.TempDir()
	a, err := archive.Open(filepath.Join(dir, "warc"), archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for i, answer := range answers {
		u, err := urlnorm.Parse(fmt.Sprintf("http://hostile.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		media, _, _ := strings.Cut(answer[0], ";")
		body := []byte(answer[1])
		if _, err := a.Put(t.Context(), crawl.Capture{
			URL:         u,
			FetchedAt:   time.Unix(1.7e9, 0),
			Addr:        netip.MustParseAddr("127.0.0.1"),
			Status:      200,
			RequestHead: []byte("GET / HTTP/1.1\r\n\r\n"),
			Body:        body,
			ContentType: media,
			Digest:      sha1.Sum(body),
			ResponseHead: []byte("HTTP/1.1 200 OK\r\nLink: <http://evil.test/>; rel=preconnect\r\n" +
				"Speculation-Rules: \"http://evil.test/\"\r\nContent-Type: " + answer[0] + "\r\n\r\n"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReplayConnectsToNobody shows hostile pages, of several types and encodings, to a browser for
// which every name of theirs is the canary's: it connects to the replay server alone. What the
// browser asks for by itself has no address.
func TestReplayConnectsToNobody(t *testing.T) {
	needsProcesses(t)
	c := newListening(t)
	b := openTab(t, chromedp.Flag("host-resolver-rules",
		"MAP *.test "+c.addr+", MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	t.Parallel()
	var answers [][2]string
	for _, p := range connectingPages(t) {
		p = strings.ReplaceAll(p, "EVIL", "evil.test")
		answers = append(answers, [2]string{"text/html; charset=utf-8", p})
	}
	const link = `<link rel="preconnect" href="http://evil.test/"/><img src="http://evil.test/x"/>`
	xhtml := `<?xml version="1.0"?><!DOCTYPE html [<!ENTITY e '` + link +
		`'>]><html xmlns="http://www.w3.org/1999/xhtml"><head>` + link +
		`</head><body>&e;seen</body></html>`
	for _, kind := range []string{"application/xhtml+xml", "application/xhtml+xml; charset=utf-7",
		"application/xhtml+xml; charset=iso-2022-jp", "application/xhtml+xml; charset=no-such",
		"text/xml", "application/xml; charset=utf-16", "application/rss+xml", "image/png, text/html",
		"text/html; charset=iso-2022-kr", "text/html;;charset", "TEXT/HTML", "text/xsl"} {
		answers = append(answers, [2]string{kind, xhtml})
	}
	answers = append(answers,
		[2]string{"image/svg+xml",
			`<svg xmlns="http://www.w3.org/2000/svg" xmlns:h="http://www.w3.org/1999/xhtml"><h:link rel="preconnect" href="http://evil.test/"/><text>seen</text></svg>`},
		[2]string{"image/svg+xml",
			`<?xml-stylesheet href="http://evil.test/a.css"?><svg xmlns="http://www.w3.org/2000/svg"><foreignObject><link xmlns="http://www.w3.org/1999/xhtml" rel="dns-prefetch" href="http://evil.test/"/></foreignObject><text>seen</text></svg>`},
		[2]string{"message/rfc822", "Content-Type: text/html\r\n\r\n" + link},
	)
	dir := archived(t, answers)
	replay := replayed(t, dir)
	for i, answer := range answers {
		b.do(chromedp.Navigate("about:blank"))
		// a download is no page
		_ = chromedp.Do(b.ctx, chromedp.Navigate(
			fmt.Sprintf("%s/web/20231114221320/http%%3A%%2F%%2Fhostile.test%%2F%d", replay, i)))
		time.Sleep(120 * time.Millisecond) // nothing is awaited: what must not happen needs its time
		if heard := c.heard.Swap(0); heard > 0 {
			t.Errorf("%s: %.300q has the browser connect %d times", answer[0], answer[1], heard)
		}
	}
	_ = chromedp.Do(b.ctx, chromedp.Navigate("http://evil.test/")) // it closes the connection
	if c.heard.Load() == 0 {
		t.Error("the canary hears nothing even when its page is opened: nothing was shown")
	}
}
