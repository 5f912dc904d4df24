package fetcher

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// brokenHeads makes answers: good heads with up to three mistakes each, the same for a seed.
func brokenHeads(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 36))
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	lines := func() string {
		return pick("nonsense", "X Y: z", ": empty", "X-A : b", "X-A\t: b", "X-A: b\r\n folded", " indented: x", "X-A: caf\xe9", "X-A: a\x01b",
			"Content-Type : text/plain", "Content-Type: html", "Content-Type: text/html, text/html", "Content-Type: text/html;charset=gbk, text/html",
			"Content-Type: */*", "Content-Type: text/plain, x", "Content-Length: 5", "Content-Length: 5, 5", "Content-Length: five", "Content-Length: -5",
			"Content-Length: 9", "Content-Length: 3", "Transfer-Encoding: identity", "Transfer-Encoding: chunked", "Connection: close", "X-B: \"q", "=: x", "X-C:")
	}
	out := make([]string, n)
	for i := range out {
		end := pick("\r\n", "\r\n", "\r\n", "\n")
		head := pick("HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 200", "HTTP/1.1  200 OK", "HTTP/1.1 404 No", "HTTP/1.1 200OK") + end
		chunked := false
		for range 1 + r.IntN(3) {
			l := lines()
			chunked = chunked || l == "Transfer-Encoding: chunked"
			head += l + end
		}
		if head += end; chunked && r.IntN(4) > 0 {
			out[i] = head + pick("5\r\nhello\r\n0\r\n\r\n", "5\nhello\n0\n\n", "5;x\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n")
		} else {
			out[i] = head + "hello"
		}
	}
	return out
}

// verdict is what a client made of an answer.
type verdict struct {
	Failed bool
	Status int
	Type   string // of Chromium and ours
	Body   string
	Cut    Cut // ours alone
}

func (v verdict) String() string {
	if v.Failed {
		return "fails"
	}
	return fmt.Sprintf("%d %q %q", v.Status, v.Type, v.Body)
}

// serveHeads answers /N with the Nth answer and anything else with page. What is posted goes to posted.
func serveHeads(t *testing.T, answers []string, page string, posted chan<- []byte) *rawServer {
	return newRawServer(t, func(_ *rawServer, c net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.Method == http.MethodPost {
			b, _ := io.ReadAll(req.Body)
			posted <- b
		}
		if i, err := strconv.Atoi(strings.TrimPrefix(req.URL.Path, "/")); err == nil && i < len(answers) {
			io.WriteString(c, answers[i])
		} else {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(page), page)
		}
		c.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, r)
	})
}

func ours(f *Fetcher, r Request) verdict {
	resp, err := f.Do(context.Background(), r)
	var fe *Error
	if errors.As(err, &fe) && fe.Reused { // the server closes connections that its answers keep open
		resp, err = f.Do(context.Background(), r)
	}
	if err != nil {
		return verdict{Failed: true}
	}
	defer resp.Release()
	return verdict{Cut: resp.Truncated, Status: resp.Status, Type: resp.MediaType, Body: string(resp.Body)}
}

// TestHeadsLikeCurl: each generated answer that curl takes whole, we take as curl does, but for the
// named differences. curl fails where browsers go on, so what it refuses says nothing.
func TestHeadsLikeCurl(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("curl is not installed")
	}
	answers := brokenHeads(1, 200)
	srv := serveHeads(t, answers, "", nil)
	f := newFetcher(t, Options{})
	agreed := 0
	for i, answer := range answers {
		path := "/" + strconv.Itoa(i)
		out, err := exec.Command(curl, "-q", "-s", "--noproxy", "*", "--http1.1", "-m", "10", "-w", "\n%{http_code}", "http://"+srv.addr+path).Output()
		if err != nil {
			continue
		}
		at := strings.LastIndexByte(string(out), '\n')
		status, _ := strconv.Atoi(string(out[at+1:]))
		got := ours(f, ask(t, "http", srv.addr, path))
		if got.Failed || got.Status != status || got.Body != string(out[:at]) {
			if why := unlikeCurl(answer); why == "" {
				t.Errorf("%q: curl %d %q, here %v", answer, status, out[:at], got)
			}
			continue
		}
		agreed++
	}
	if t.Logf("of %d answers curl takes, and we take as it does, %d", len(answers), agreed); agreed < len(answers)/4 {
		t.Errorf("only %d answers were compared", agreed)
	}
}

// unlikeCurl is why an answer is taken in another way than curl takes it, or "".
func unlikeCurl(answer string) string {
	head := strings.ToLower(answer)
	switch {
	case strings.HasPrefix(head, "http/1.0") && strings.Contains(head, "transfer-encoding: chunked"):
		return "HTTP/1.0 has no transfer codings (RFC 9112, section 6.1)"
	case strings.Count(head, "content-length:") > 1:
		return "curl takes the last of several lengths; those that differ are an error (section 6.3)"
	}
	return ""
}

// TestHeadsLikeChromium compares with Chromium, by hand: CRAWLNODE_CHROMIUM names the browser.
func TestHeadsLikeChromium(t *testing.T) {
	browser := os.Getenv("CRAWLNODE_CHROMIUM")
	if browser == "" {
		t.Skip("it is run by hand: set CRAWLNODE_CHROMIUM to a browser")
	}
	answers := brokenHeads(1, 200)
	page := fmt.Sprintf(`<!DOCTYPE html><title>wait</title><body><script>
	(async () => { const out = [];
	  for (let i = 0; i < %d; i++) { try {
	    const r = await fetch("/" + i, {cache: "no-store"}), b = await r.blob();
	    out.push({Status: r.status, Type: b.type, Body: await b.text()});
	  } catch (e) { out.push({Failed: true}); } }
	  await fetch("/result", {method: "POST", body: JSON.stringify(out)});
	})();</script>`, len(answers))
	posted := make(chan []byte, 1)
	srv := serveHeads(t, answers, page, posted)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "http://"+srv.addr+"/page")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var theirs []verdict
	select {
	case text := <-posted:
		if err := json.Unmarshal(text, &theirs); err != nil || len(theirs) != len(answers) {
			t.Errorf("%d results, %v", len(theirs), err)
		}
	case <-ctx.Done():
		t.Error("no result of the browser")
	}
	cancel()
	cmd.Wait() // it was killed
	if t.Failed() {
		return
	}
	f := newFetcher(t, Options{})
	agreed, cut, lengths := 0, 0, 0
	for i, answer := range answers {
		got, want := ours(f, ask(t, "http", srv.addr, "/"+strconv.Itoa(i))), theirs[i]
		got.Body = strings.ToValidUTF8(got.Body, "?")
		// A blob's type is the header as it came; only one valid value can be compared.
		if want.Type, _, _ = strings.Cut(want.Type, ";"); strings.Contains(want.Type, ",") || !strings.Contains(want.Type, "/") || want.Type == "*/*" {
			want.Type = got.Type
		}
		switch {
		case got.Failed == want.Failed && (got.Failed || got.Status == want.Status && got.Body == want.Body && got.Type == want.Type):
			agreed++
		case want.Failed && got.Cut == CutDisconnect:
			cut++ // the page's script sees an error where a crawler keeps what came
		case want.Failed && (strings.Count(answer, "Content-Length:") > 1 || strings.Contains(answer, "Content-Length: 5, 5")):
			lengths++ // Chromium refuses lengths that differ in their spelling; here only numbers count
		default:
			t.Errorf("%q: Chromium %v, here %v", answer, want, got)
		}
	}
	t.Logf("%d of %d alike, %d cut, %d with lengths of which not all are numbers", agreed, len(answers), cut, lengths)
}
