package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"crawlnode/web/fetcher"
	"crawlnode/web/urlnorm"
)

var headsReport = flag.String("heads.report", "", "write the comparison of heads to this file")

// comparedHead is one answer of a server, as bytes, and what it is an example of.
type comparedHead struct {
	class string // of the mutation, for the report
	raw   []byte // head and body; the connection is closed behind it
}

const (
	comparedHeads = 200
	comparedBody  = `<!doctype html><title>t</title><p>body`
)

// headMutations change a good head in one way each. line is put before the marker, so that a reader
// which gives up at it does not see the marker.
var headMutations = []struct {
	class  string
	status []string // status lines; nil: a good one
	lines  []string // one of them is added; nil: none
	types  []string // values of Content-Type; nil: text/html
	length []string // framing lines in place of Content-Length; %d is the length of the body
	body   string   // in place of comparedBody
}{
	{class: "good"},
	{class: "line without a colon", lines: []string{"nonsense", "some words here", "HTTP/1.1 200 OK", "=x", "-----", "X-Unfinished"}},
	{class: "white space before the colon", lines: []string{"X-A : b", "X-A\t: b", "X-A  :b"}},
	{class: "name that is no token", lines: []string{"X A: b", "X(A): b", "X-\xe4: b", "@: b", "\"X\": b", "[x]: y"}},
	{class: "empty name", lines: []string{": value", ":", " : x"}},
	{class: "folded line", lines: []string{"X-A: b\r\n  c", "X-A: b\r\n\tc", "X-A:\r\n b"}},
	{class: "control bytes in a value", lines: []string{"X-A: b\x01c", "X-A: b\x7fc", "X-A: \x1b[1m"}},
	{class: "bytes outside ASCII", lines: []string{"X-A: caf\xe9", "X-A: b\xc3\xa4r", "X-A: \xff\xfe"}},
	{class: "status line", status: []string{"HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.0 200 OK",
		"HTTP/1.1 200 Very \xe4 fine",
		"HTTP/1.1  200 OK", "HTTP/1.1 200\tOK", "HTTP/1.2 200 OK"}},
	{class: "other status lines", status: []string{"http/1.1 200 OK", "HTTP/1 200 OK", "HTTP/2 200 OK",
		"ICY 200 OK", "HTTP/1.1 20 OK",
		"HTTP/1.1 OK", "HTTP/1.1200 OK", "HTTP/1.1 2000 OK"}},
	{class: "interim answers before it", status: []string{
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
		"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK",
	}},
	{class: "equal lengths", length: []string{"Content-Length: %d, %d",
		"Content-Length: %d\r\nContent-Length: %d", "Content-Length: %d,%d,%d"}},
	{class: "lengths that differ", length: []string{"Content-Length: %d\r\nContent-Length: 5", "Content-Length: %d, 7"}},
	{class: "length that is no number", length: []string{"Content-Length: abc", "Content-Length: -1",
		"Content-Length:", "Content-Length: 0x26"}},
	{class: "odd forms of the length", length: []string{"Content-Length: +%d", "Content-Length: %d ",
		"content-length:%d", "Content-Length: 000%d"}},
	{class: "no length", length: []string{""}},
	{class: "length longer than the body", length: []string{"Content-Length: 4000", "Content-Length: 60"}},
	{class: "chunked", length: []string{"Transfer-Encoding: chunked"}, body: "26\r\n" + comparedBody + "\r\n0\r\n\r\n"},
	{
		class:  "chunked, length beside it",
		length: []string{"Transfer-Encoding: chunked\r\nContent-Length: 5"},
		body:   "26\r\n" + comparedBody + "\r\n0\r\n\r\n",
	},
	{class: "chunked without its end", length: []string{"Transfer-Encoding: chunked"}, body: "26\r\n" + comparedBody + "\r\n"},
	{class: "chunked, garbage for a size", length: []string{"Transfer-Encoding: chunked"}, body: "26\r\n" + comparedBody + "\r\nzz\r\n"},
	{
		class:  "chunked twice",
		length: []string{"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"},
		body:   "26\r\n" + comparedBody + "\r\n0\r\n\r\n",
	},
	{class: "identity", length: []string{"Transfer-Encoding: identity", "Transfer-Encoding: identity\r\nContent-Length: %d"}},
	{class: "type twice", types: []string{"text/html, text/html",
		"text/html\r\nContent-Type: text/html", "text/plain, text/html", "text/html, */*"}},
	{class: "type and garbage", types: []string{"text/html, x", "text/html;", "text/html;;",
		"text/html ; x", "TEXT/HTML; charset", "text/html;charset=\"utf-8"}},
	{class: "invalid type", types: []string{"html", "text", "text/", "/html", "\"text/html\"", "text html", "unknown/unknown", "*/*"}},
	{class: "other type", types: []string{"text/plain", "application/xhtml+xml", "image/png", "application/json; charset=utf-8"}},
	{
		class:  "redirect",
		status: []string{"HTTP/1.1 302 Found", "HTTP/1.1 301"},
		lines:  []string{"Location: /to", "Location : /to", "location:/to", "LOCATION:   /to  "},
	},
	{class: "bare line feeds"}, // see raw
	{class: "mixed line ends"},
}

// generatedHeads are comparedHeads answers made of a seed: each mutation in turn, and from the
// second round on two at a time.
func generatedHeads(seed uint64) []comparedHead {
	rng := rand.New(rand.NewPCG(seed, seed))
	pick := func(list []string, without string) string {
		if len(list) == 0 {
			return without
		}
		return list[rng.IntN(len(list))]
	}
	out := make([]comparedHead, 0, comparedHeads)
	for i := range comparedHeads {
		m := headMutations[i%len(headMutations)]
		body := m.body
		if body == "" {
			body = comparedBody
		}
		length := pick(m.length, "Content-Length: %d")
		length = strings.ReplaceAll(length, "%d", fmt.Sprint(len(comparedBody)))
		class := m.class
		lines := []string{pick(m.status, "HTTP/1.1 200 OK"), "Server: test",
			"Content-Type: " + pick(m.types, "text/html")}
		lines = append(lines, pick(m.lines, ""))
		if i >= 3*len(headMutations) { // and one more line
			if more := headMutations[1+rng.IntN(7)]; more.lines != nil {
				lines, class = append(lines, pick(more.lines, "")), class+" + "+more.class
			}
		}
		lines = append(lines, length, "X-Marker: m"+fmt.Sprint(i), "Connection: close")
		lines = slices.DeleteFunc(lines, func(s string) bool { return s == "" })
		end := "\r\n"
		if m.class == "bare line feeds" {
			end = "\n"
		}
		head := strings.Join(lines, end) + end
		if m.class == "mixed line ends" {
			head = strings.Replace(head, "\r\n", "\n", 1+rng.IntN(3))
		}
		out = append(out, comparedHead{class, []byte(head + end + body)})
	}
	return out
}

// serveHeads answers /N with the N-th case, /to with the target of redirects, and / with page. It
// returns the address; the server ends with the test.
func serveHeads(t *testing.T, all []comparedHead, page string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	answer := func(c net.Conn) {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		var head []byte
		for b := make([]byte, 4096); !bytes.Contains(head, []byte("\r\n\r\n")); {
			n, err := c.Read(b)
			if head = append(head, b[:n]...); err != nil {
				return
			}
		}
		_, path, _ := strings.Cut(string(head), " /")
		path, _, _ = strings.Cut(path, " ")
		path, _, _ = strings.Cut(path, "?")
		good := func(body string) {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n"+
				"Connection: close\r\n\r\n%s", len(body), body)
		}
		var i int
		switch _, err := fmt.Sscanf(path, "%d", &i); {
		case path == "":
			good(page)
		case err != nil || i >= len(all):
			good("redirected")
		default:
			_, _ = c.Write(all[i].raw)
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	return l.Addr().String()
}

// readHead is what a reader made of an answer. The zero value: nothing.
type readHead struct {
	Status     int
	Marker     string // the value of X-Marker
	Redirected bool
	Body       string // what came of the body
	Media      string // type of the document; "": not asked, or none
}

// agrees reports whether two readers have made the same of a head and its body.
func (s readHead) agrees(o readHead) bool {
	if s.Redirected || o.Redirected { // the browser tells of the target only
		return s.Redirected == o.Redirected
	}
	return s.Status == o.Status && s.Marker == o.Marker && s.Body == o.Body
}

// byFetcher is what this program makes of each case.
func byFetcher(t *testing.T, address string) []readHead {
	f := fetcher.New(fetcher.Options{
		UserAgent: "crawlnode/test",
		Allowed:   func(netip.Addr) bool { return true },
	})
	defer f.Close()
	out := make([]readHead, comparedHeads)
	for i := range out {
		u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%d", address, i))
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Do(t.Context(),
			fetcher.Request{URL: u, Addr: netip.MustParseAddrPort(address).Addr()})
		if err != nil {
			continue
		}
		out[i] = readHead{
			Status:     r.Status,
			Marker:     r.Header.Get("X-Marker"),
			Redirected: r.Status/100 == 3 && r.Header.Get("Location") == "/to",
			Body:       string(r.Body),
			Media:      r.MediaType,
		}
		r.Release()
	}
	return out
}

// byCurl is what curl makes of each case. It keeps what came of a broken body, and ends with an
// error then.
func byCurl(t *testing.T, address string) []readHead {
	path, err := exec.LookPath("curl")
	if err != nil {
		unable(t, "needs curl, which make deps installs")
	}
	out := make([]readHead, comparedHeads)
	file := filepath.Join(t.TempDir(), "body")
	for i := range out {
		_ = os.Remove(file)
		text, _ := exec.CommandContext(t.Context(), path, "-s", "--http1.1", "--noproxy", "*",
			"--max-time", "30", "-o", file,
			"-w", `%{http_code}\n%header{x-marker}\n%{redirect_url}`,
			fmt.Sprintf("http://%s/%d", address, i)).Output()
		fields := strings.Split(string(text)+"\n\n", "\n")
		var s readHead
		if _, err := fmt.Sscan(fields[0], &s.Status); err != nil {
			t.Fatalf("curl wrote %q", text)
		}
		body, _ := os.ReadFile(file)
		s.Marker, s.Redirected, s.Body = fields[1], strings.HasSuffix(fields[2], "/to"), string(body)
		if s.Status == 0 {
			s = readHead{}
		}
		out[i] = s
	}
	return out
}

// headsPage has a browser fetch each case, and show it in a frame, which tells the type of
// the document. A frame whose answer is downloaded has none.
const headsPage = `<!doctype html><script>
async function one(i) {
  const s = {Status: 0, Marker: "", Redirected: false, Body: "", Media: ""};
  try {
    const r = await fetch("/" + i, {cache: "no-store"});
    s.Status = r.status; s.Marker = r.headers.get("x-marker") || ""; s.Redirected = r.redirected;
    const reader = r.body.getReader(), decoder = new TextDecoder();
    try {
      for (;;) { const {done, value} = await reader.read(); if (done) break; s.Body += decoder.decode(value, {stream: true}) }
    } catch (e) {}
  } catch (e) { return s }
  const f = document.createElement("iframe"), loaded = new Promise(done => f.onload = done);
  f.src = "/" + i + "?frame"; document.body.append(f);
  await Promise.race([loaded, new Promise(done => setTimeout(done, 3000))]);
  try { if (f.contentDocument.location.href != "about:blank") s.Media = f.contentDocument.contentType } catch (e) {}
  f.remove();
  return s
}
async function all(n) {
  const out = new Array(n); let next = 0;
  await Promise.all(Array.from({length: 5}, async () => { while (next < n) { const i = next++; out[i] = await one(i) } }));
  return JSON.stringify(out)
}
</script><body>`

func byChromium(t *testing.T, address string) []readHead {
	b := openTab(t)
	b.open("http://" + address + "/")
	ctx, cancel := context.WithTimeout(b.ctx, 3*browserTime)
	defer cancel()
	text, err := chromedp.Run(ctx,
		chromedp.Evaluate[string](fmt.Sprintf("all(%d)", comparedHeads), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	var out []readHead
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHeadsAsBrowsersReadThem compares what this program makes of 200 generated answers with what
// curl and Chromium make of them. Where these two agree about the head and the body, this program
// must too; and it must take an answer for a page where Chromium shows one.
func TestHeadsAsBrowsersReadThem(t *testing.T) {
	t.Parallel()
	all := generatedHeads(1)
	address := serveHeads(t, all, headsPage)
	ours, curl, chromium := byFetcher(t, address), byCurl(t, address), byChromium(t, address)
	type row struct{ n, curl, chromium, both, media int }
	rows := map[string]*row{}
	var differences strings.Builder
	for i, c := range all {
		class, _, _ := strings.Cut(c.class, " + ")
		r := rows[class]
		if r == nil {
			r = &row{}
			rows[class] = r
		}
		r.n++
		withCurl, withChromium := ours[i].agrees(curl[i]), ours[i].agrees(chromium[i])
		if withCurl {
			r.curl++
		}
		if withChromium {
			r.chromium++
		}
		sameMedia := isPage(ours[i]) == isPage(chromium[i])
		if sameMedia {
			r.media++
		}
		if withCurl || withChromium {
			r.both++
		}
		if curl[i].agrees(chromium[i]) && !withCurl {
			t.Errorf("case %d, %s: %q\nhere     %+v\ncurl     %+v\nChromium %+v", i, c.class, c.raw, ours[i],
				curl[i], chromium[i])
		}
		// What Chromium downloads, such as "/html", has no valid type, and is sniffed here, as the
		// Fetch standard and the MIME Sniffing standard say.
		if !sameMedia && withChromium && chromium[i].Media != "" {
			t.Errorf("case %d, %s: %q\nis a page: here %v, in Chromium %v (%q)", i, c.class, c.raw,
				isPage(ours[i]), isPage(chromium[i]), chromium[i].Media)
		}
		if !withCurl || !withChromium {
			fmt.Fprintf(&differences, "%d %s: %q\n  here     %+v\n  curl     %+v\n  Chromium %+v\n", i,
				c.class, c.raw, ours[i], curl[i], chromium[i])
		}
	}
	var table strings.Builder
	sum := row{}
	for _, m := range headMutations {
		r := rows[m.class]
		fmt.Fprintf(&table, "| %s | %d | %d | %d | %d | %d |\n", m.class, r.n, r.curl, r.chromium, r.both,
			r.media)
		sum.n, sum.curl, sum.chromium, sum.both, sum.media = sum.n+r.n, sum.curl+r.curl,
			sum.chromium+r.chromium, sum.both+r.both, sum.media+r.media
	}
	fmt.Fprintf(&table, "| all | %d | %d | %d | %d | %d |\n", sum.n, sum.curl, sum.chromium, sum.both,
		sum.media)
	t.Logf("as curl, as Chromium, as one of them, a page as in Chromium:\n%s", table.String())
	if *headsReport != "" {
		if err := os.WriteFile(*headsReport, []byte(table.String()+"\n"+
			differences.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// isPage reports whether the links of an answer are read, or a browser shows it as a page.
func isPage(s readHead) bool {
	return s.Redirected || s.Media == "text/html" || s.Media == "application/xhtml+xml"
}
