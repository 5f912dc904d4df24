package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
)

// calendarSite has 20 pages with texts of their own and a calendar without end.
type calendarSite struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // path and query, in the order of the requests
}

func newCalendarSite(t *testing.T) *calendarSite {
	s := &calendarSite{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *calendarSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := r.URL.RequestURI()
	month := func(n int) string { return fmt.Sprintf("/calendar?month=%d-%02d", n/12, n%12+1) }
	w.Header().Set("Content-Type", "text/html")
	switch n, err := strconv.Atoi(strings.TrimPrefix(at, "/page/")); {
	case at == "/":
		for i := range 20 {
			fmt.Fprintf(w, "<a href=/page/%d>page</a>", i)
		}
		fmt.Fprintf(w, "<a href=%q>calendar</a>", month(2026*12))
	case err == nil && n < 20:
		fmt.Fprintf(w, "<h1>Page</h1>")
		for i := range 40 { // words that no other page has
			fmt.Fprintf(w, "%c%c%c%c ", 'a'+n, 'a'+i%26, 'a'+(i*7+n)%26, 'a'+i/26)
		}
	case strings.HasPrefix(at, "/calendar?month="):
		var y, m int
		if _, err := fmt.Sscanf(at, "/calendar?month=%d-%d", &y, &m); err != nil {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "<h1>%s %d</h1><a href=%q>next</a> <a href=%q>previous</a> ", time.Month(m), y,
			month(y*12+m), month(y*12+m-2))
		for d := range 28 + m%4 {
			fmt.Fprintf(w, "<td>%d", d+1)
		}
	default:
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	s.seen = append(s.seen, at)
	s.mu.Unlock()
}

// requests are the pages that were asked for since the last call, sorted.
func (s *calendarSite) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.seen
	s.seen = nil
	slices.Sort(list)
	return list
}

// args are those of a crawl of the site.
func (s *calendarSite) args(t *testing.T, more ...string) []string {
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"crawl", s.URL + "/", "--allow-net", "127.0.0.0/8", "--allow-ports", port,
		"--delay", "1ms", "--data-dir", t.TempDir(), "--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0",
		"--rpc", "127.0.0.1:0"}, more...)
}

// TestATrapIsToldWhileItHappens: a person who sees the event, the health, the line or the
// status can do what they say, and the crawl ends with all other pages. The same in the next crawl.
//
//race:meets
func TestATrapIsToldWhileItHappens(t *testing.T) {
	t.Parallel()
	site := newCalendarSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	written, errout := io.Pipe()
	var out, said bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- Main(ctx, site.args(t), Env{Stdin: strings.NewReader(""), Stdout: &out,
			Stderr: io.MultiWriter(errout, &said), Version: "1.2.3",
			Lookup: func(string) (string, bool) { return "", false }})
		_ = errout.Close()
	}()
	lines := bufio.NewScanner(written)
	address := ""
	for address == "" && lines.Scan() {
		if m := regexp.MustCompile(`status at http://(\S+)/status`).FindStringSubmatch(lines.Text()); m !=
			nil {
			address = m[1]
		}
	}
	rest, told := make(chan struct{}), make(chan struct{})
	go func() { // a pipe that nobody reads would stop the crawl
		defer close(rest)
		tell := sync.OnceFunc(func() { close(told) })
		for lines.Scan() {
			if strings.Contains(lines.Text(), "makes pages without end: ") {
				tell()
			}
		}
	}()
	event := nextEvent(ctx, t, address, crawl.EventTrap)
	pattern := site.URL + "/calendar?month=*"
	if f := event.Fields; f["exclude"] != pattern || f["host"] != "127.0.0.1" ||
		event.Level != crawl.EventWarn || !strings.Contains(event.Message, pattern) {
		t.Errorf("event %+v, want the pattern %s", event, pattern)
	}
	st := statusOf(ctx, t, address)
	if len(st.Fetch.Traps) != 1 || st.Fetch.Traps[0].Exclude != pattern ||
		st.Fetch.Traps[0].Pages < 24 {
		t.Errorf("traps %+v", st.Fetch.Traps)
	}
	i := slices.IndexFunc(st.Cluster.Health.Reasons, func(r crawl.HealthReason) bool {
		return r.Code == crawl.ReasonTrap
	})
	if i < 0 || !strings.Contains(st.Cluster.Health.Reasons[i].Message, "--exclude '"+pattern+"'") {
		t.Errorf("health %+v", st.Cluster.Health)
	}
	for {
		shown := runWithin(ctx, nil, "", "status", "--addr", address)
		if strings.Contains(shown.out, pattern) {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("status does not name the trap:\n%s%s", shown.out, shown.errout)
		}
	}
	command, _ := event.Fields["command"].(string)
	args, ok := strings.CutPrefix(command, "crawlnode ")
	if !ok {
		t.Fatalf("the event has no command: %v", event.Fields)
	}
	select {
	case <-told:
	case <-ctx.Done():
		t.Fatal("the crawl does not name the trap")
	}
	if r := runWithin(ctx, nil, "", unquoted(args)...); r.code != 0 {
		t.Fatalf("%s: %d %s", command, r.code, r.errout)
	}
	if c := <-code; c != 0 {
		t.Errorf("exit code %d: %s", c, &said)
	}
	<-rest
	for _, want := range []string{"makes pages without end", "--exclude '" + pattern + "'"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("while it happened the crawl did not say %q:\n%s", want, &said)
		}
	}
	var real []string
	for _, u := range site.requests() {
		if !strings.HasPrefix(u, "/calendar") {
			real = append(real, u)
		}
	}
	if len(real) != 21 {
		t.Errorf("%d pages beside the calendar, want 21: %v", len(real), real)
	}
	r := runWithin(ctx, nil, "", site.args(t, "--exclude", pattern)...)
	r.want(t, 0, "pages: 21 ", "")
	if got := site.requests(); !slices.Equal(got, real) {
		t.Errorf("with the pattern these pages are fetched: %v\nwant %v", got, real)
	}
	if strings.Contains(r.out+r.errout, "trap:") || strings.Contains(r.errout, "without end") {
		t.Errorf("a crawl without a trap tells one:\n%s%s", r.out, r.errout)
	}
	r = runWithin(ctx, nil, "", site.args(t, "--max-pages", "120")...)
	r.want(t, 0, "trap: ", "") // the line of progress comes every few seconds: see TestProgressText
	if !strings.Contains(r.out, "--exclude '"+pattern+"'") {
		t.Errorf("the report at the end:\n%s", r.out)
	}
}

// TestTheBudgetOfSuspiciousURLs: with the flag, a trap ends by itself.
func TestTheBudgetOfSuspiciousURLs(t *testing.T) {
	t.Parallel()
	site := newCalendarSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := runWithin(ctx, nil, "", site.args(t, "--max-suspicious-per-host", "30")...)
	r.want(t, 0, "host budget", "")
	if n := len(site.requests()); n < 21+24 || n > 21+24+8+30+24 {
		t.Errorf("%d pages were fetched with a budget of 30", n)
	}
}

// nextEvent waits for an event of a code.
func nextEvent(ctx context.Context, t *testing.T, address, code string) (e crawl.Event) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/api/v1/events",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if ok && json.Unmarshal([]byte(data), &e) == nil && e.Code == code {
			return e
		}
	}
	t.Fatalf("no event %s", code)
	return e
}

// statusOf waits for a status that has a trap: a node's figures are told once a second.
func statusOf(ctx context.Context, t *testing.T, address string) (st crawl.Status) {
	t.Helper()
	for ctx.Err() == nil && len(st.Fetch.Traps) == 0 {
		r := runWithin(ctx, nil, "", "status", "--addr", address, "-o", "json")
		if err := json.Unmarshal([]byte(r.out), &st); err != nil {
			t.Fatalf("%v: %s%s", err, r.out, r.errout)
		}
	}
	return st
}

// unquoted splits a command as a shell does that has only single quotes.
func unquoted(line string) (args []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
			continue
		}
		args = append(args, strings.Fields(part)...)
	}
	return args
}
