package integration

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
)

// poison is text that takes a terminal over, forges a line of a log and closes a quote.
const poison = "\x1b]0;owned\x07\x1b[31m\u202egnp\u009b2J\r\n" +
	"FORGED level=ERROR \"}<script>alert(1)</script>"

// poisonedWeb answers every request with poison wherever HTTP and HTML let it stand.
func poisonedWeb(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answerPoison(c, l.Addr().String())
		}
	}()
	t.Cleanup(func() {
		_ = l.Close() // ends the loop
		<-ended
	})
	return l.Addr().String()
}

// answerPoison answers one request and hangs up.
func answerPoison(c net.Conn, addr string) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	first, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return
	}
	line := strings.NewReplacer("\r", "", "\n", "").Replace(poison)
	head := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\n"
	page := fmt.Sprintf("<title>%s</title><base href='/%%1b%%0aFORGED/'><meta name=robots "+
		"content='%s'><meta name=description content='%s'><html lang='%s'>"+
		"<a href='/%s'>x</a><a href='http://%s/%s?%s#x'>x</a><a href='http://%s.test/'>x</a><a "+
		"href='javascript:%s'>x</a><a href='/no%%1b%%0a%%07'>x</a>",
		poison, poison, poison, poison, poison, addr, poison, poison, line, poison)
	for _, path := range poisonedPaths {
		page += "<a href='" + path + "'>x</a>"
	}
	_, path, _ := strings.Cut(first, " ")
	switch path, _, _ = strings.Cut(path, " "); path {
	case "/robots.txt":
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"+
			"User-agent: *\nDisallow: /no%s\nSitemap: http://%s/%s\n", poison, addr, poison)
	case "/redirect":
		fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nLocation: http://%s/to%s\r\nConnection: close\r\n\r\n",
			addr, line)
	case "/broken":
		fmt.Fprintf(c, "HTTP/1.1 %s\r\n%s\r\n\r\n", line, line)
	case "/reason":
		fmt.Fprintf(c, "HTTP/1.1 200 %s\r\nConnection: close\r\n\r\n%s", line, page)
	case "/limited":
		fmt.Fprintf(c, "HTTP/1.1 429 Slow\r\nRetry-After: %s\r\nConnection: close\r\n\r\n", line)
	case "/type":
		fmt.Fprintf(c,
			"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=%s\r\nConnection: close\r\n\r\n%s", line,
			page)
	case "/coding":
		fmt.Fprintf(c, "%sContent-Encoding: %s\r\n\r\n%s", head, line, page)
	case "/length":
		fmt.Fprintf(c, "%sContent-Length: %s\r\n\r\n%s", head, line, page)
	case "/tags":
		fmt.Fprintf(c, "%sETag: \"%s\"\r\nLast-Modified: %s\r\nX-Robots-Tag: %s\r\nServer: %s\r\n\r\n%s",
			head, line, line, line, line, page)
	case "/name":
		fmt.Fprintf(c, "%s%s: x\r\n\r\n%s", head, line, page)
	default:
		fmt.Fprintf(c, "%s\r\n%s", head, page)
	}
}

// poisonedPaths answer with poison in one place of the head each.
var poisonedPaths = []string{"/redirect", "/broken", "/reason", "/limited", "/type", "/coding",
	"/length", "/tags", "/name"}

// Nothing of a page's text, a header, a URL or a seed reaches a terminal or a log as it
// is: no control byte, no line of its own, no mark that turns the text around (S16).
func TestPoisonReachesNoTerminal(t *testing.T) {
	needsProcesses(t)
	t.Parallel()
	addr := poisonedWeb(t)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--delay", "5ms", "--log-level", "debug",
		"--log-format", "text")
	c.addReady(1)
	n := c.nodes[0]
	code, stdout, stderr := run(t,
		"http://"+addr+"/\nhttp://"+addr+"/"+poison+"\n"+poison+"\nhttp://"+addr+"/limited\n", "seeds",
		"add", "--addr", n.http, "-")
	judgeText(t, "seeds add", stdout+stderr)
	if code != 0 && code != 2 {
		t.Errorf("seeds add: exit code %d\n%s%s", code, stdout, stderr)
	}
	until(t, 30*time.Second, func() string {
		if s, err := n.status(); err != nil || s.Throughput.PagesTotal < 4 || s.Frontier.InFlight > 0 {
			return fmt.Sprintf("%+v, %v", s.Throughput, err)
		}
		return ""
	})
	asked := [][]string{{"status"}, {"urls", "why", "http://" + addr + "/"},
		{"urls", "why", "http://" + addr + "/" + poison}, {"urls", "why", poison},
		{"hosts", "show", "127.0.0.1"}, {"hosts", "show", poison}, {"nodes", "list"},
		{"nodes", "drain", poison}, {"scope", "test", poison}}
	for _, path := range poisonedPaths {
		asked = append(asked, []string{"urls", "why", "http://" + addr + path})
	}
	for _, args := range asked {
		_, stdout, stderr := run(t, "", append(args, "--addr", n.http)...)
		judgeText(t, "crawlnode "+args[0], stdout+stderr)
	}
	for _, path := range []string{"/status?format=text", "/metrics", "/healthz", "/",
		"/" + "%1b%5b31m", "/status?format=%1b%0aFORGED"} {
		_, body, err := n.get(path)
		if err != nil {
			t.Fatal(err)
		}
		judgeText(t, path, string(body))
	}
	_, metrics, err := n.get("/metrics")
	if err != nil || strings.Contains(string(metrics), addr) ||
		strings.Count(string(metrics), "\n") > 2000 {
		t.Errorf("the metrics name hosts, or are too many (%v)", err)
	}
	c.stop()
	log, err := os.ReadFile(n.log)
	if err != nil {
		t.Fatal(err)
	}
	judgeText(t, "the log", string(log))
	if !strings.Contains(string(log), "FORGED") {
		t.Error("the log says nothing of what was fetched: nothing was tested")
	}
}

// forged is a line that begins where poison broke one.
var forged = regexp.MustCompile(`(?m)^\s*FORGED`)

// ownScript loads one of the dashboard's files; no page of ours has a script in itself.
var ownScript = regexp.MustCompile(`<script src="/static/[a-z]+\.js" defer></script>`)

// judgeText wants text that a terminal shows as it is.
func judgeText(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%s: %U in %q", what, r, text[max(0, i-60):min(len(text), i+60)])
			return
		}
	}
	if at := forged.FindStringIndex(text); at != nil {
		t.Errorf("%s: a forged line: %q", what, text[max(0, at[0]-60):min(len(text), at[1]+60)])
	}
	if strings.Contains(text, "<html") &&
		strings.Contains(ownScript.ReplaceAllString(text, ""), "<script") {
		t.Errorf("%s: a script in a page of ours", what)
	}
}
