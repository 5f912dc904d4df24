package tika

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/local/closedport"
)

// server is a Tika server as its documentation describes it, whose reading of a file is given.
func server(t *testing.T, read func(w http.ResponseWriter, r *http.Request, file string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path != "/tika":
			w.WriteHeader(http.StatusNotFound)
		case r.Method != http.MethodPut:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.Header.Get("Accept") != "text/html":
			w.WriteHeader(http.StatusNotAcceptable)
		default:
			w.Header().Set("Content-Type", "text/html")
			read(w, r, string(file))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func client(t *testing.T, address string, o Options) *Client {
	t.Helper()
	c, err := New(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestRead(t *testing.T) {
	t.Parallel()
	address := server(t, func(w http.ResponseWriter, r *http.Request, file string) {
		fmt.Fprintf(w, "<html><body><p>%s</p><p>%s</p><p>%s</p></body></html>", file,
			r.Header.Get("Content-Type"), r.Header.Get("Content-Disposition"))
	})
	for _, c := range []struct{ address, mediaType, name, want string }{
		{address, "application/msword", "a.doc",
			"<p>file</p><p>application/msword</p><p>attachment; filename=a.doc</p>"},
		{address + "/", "Text/CSV; charset=latin1", "dir/b \"c\".csv",
			`<p>file</p><p>text/csv; charset=latin1</p><p>attachment; filename=&#34;b \&#34;c\&#34;.csv&#34;</p>`},
		{address + "/tika", "", "", "<p>file</p><p>application/octet-stream</p><p></p>"},
		{address, "nonsense", "..", "<p>file</p><p>application/octet-stream</p><p></p>"},
		{address, "a/b\r\nX-Evil: 1", "ü\r\n.doc",
			"<p>file</p><p>application/octet-stream</p><p>attachment; " +
				"filename*=utf-8&#39;&#39;%C3%BC%20.doc</p>"},
	} {
		html, truncated, err := client(t, c.address, Options{}).Read(t.Context(),
			[]byte("file"), c.mediaType, c.name, Limits{})
		if got := bodyOf(html); got != c.want || truncated || err != nil {
			t.Errorf("%q, %q: truncated %v, %v\n%s", c.mediaType, c.name, truncated, err, got)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "tika", "localhost:9998", "ftp://tika/", "http://",
		"http://tika/?a=b", "http://u:secret@tika:x/"} {
		if _, err := New(bad, Options{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	address := server(t, func(w http.ResponseWriter, r *http.Request, file string) {
		var status int
		if _, err := fmt.Sscan(file, &status); err != nil {
			t.Error(err)
		}
		w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
		w.WriteHeader(status)
		if status >= 400 {
			fmt.Fprintf(w, "org.apache.tika.exception:\n\tit is \x1b[31m%s",
				strings.Repeat("ä", 10_000))
		}
	})
	c := client(t, address, Options{})
	for status, want := range map[int]string{
		204: "there is nothing in it (204)",
		302: "answers Found (302): to http://127.0.0.1:1/elsewhere",
		307: "answers Temporary Redirect (307)",
		400: "answers Bad Request (400): org.apache",
		415: "not supported (415): org.apache.tika.exception: it is [31mää",
		422: "encrypted, damaged or of an unknown kind (422): org.apache",
		500: "reading it failed (500): org.apache",
	} {
		html, _, err := c.Read(t.Context(), fmt.Append(nil, status), "", "", Limits{})
		var refusal *Refusal
		if html != nil || !errors.As(err, &refusal) || refusal.Status != status ||
			len(refusal.Said) > maxSaid ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// TestAway: a server that answers 503, breaks off or is not there is asked once, and again after
// the pause.
func TestAway(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(w http.ResponseWriter){
		"restarting": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"breaks off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "<p>begun")
		},
		"resets": func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		var asked atomic.Int32
		var well atomic.Bool
		address := server(t, func(w http.ResponseWriter, r *http.Request, file string) {
			asked.Add(1)
			if well.Load() {
				fmt.Fprint(w, "<p>well")
				return
			}
			fail(w)
		})
		now := &clock{now: time.Unix(1e9, 0)}
		c := client(t, address, Options{Now: now.Now})
		for range 3 {
			if _, _, err := c.Read(t.Context(), []byte("x"), "", "", Limits{}); !errors.Is(err,
				ErrAway) {
				t.Errorf("%s: %v", name, err)
			}
		}
		now.pass(29 * time.Second)
		if _, _, err := c.Read(t.Context(), []byte("x"), "", "", Limits{}); !errors.Is(err,
			ErrAway) || asked.Load() != 1 {
			t.Errorf("%s: asked %d times, %v", name, asked.Load(), err)
		}
		well.Store(true)
		now.pass(2 * time.Second)
		html, _, err := c.Read(t.Context(), []byte("x"), "", "", Limits{})
		if err != nil || bodyOf(html) != "<p>well</p>" {
			t.Errorf("%s: afterwards %v", name, err)
		}
	}
	closed := "http://user:secret@" + closedport.Reserve(t).Addr
	_, _, err := client(t, closed, Options{}).Read(t.Context(), []byte("x"), "", "", Limits{})
	if !errors.Is(err, ErrAway) || strings.Contains(err.Error(), "secret") {
		t.Errorf("not there: %v", err)
	}
}

// TestSlow: a file whose time is up costs nothing but itself.
func TestSlow(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	address := server(t, func(w http.ResponseWriter, r *http.Request, file string) {
		if file == "slow" {
			select {
			case <-r.Context().Done():
			case <-stop:
			}
			return
		}
		fmt.Fprint(w, "<p>fast")
	})
	defer close(stop)
	c := client(t, address, Options{})
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, why)
	defer cancel()
	if _, _, err := c.Read(ctx, []byte("slow"), "", "", Limits{}); !errors.Is(err, why) ||
		errors.Is(err, ErrAway) {
		t.Errorf("%v", err)
	}
	if html, _, err := c.Read(t.Context(), []byte("fast"), "", "", Limits{}); err != nil ||
		bodyOf(html) != "<p>fast</p>" {
		t.Errorf("%v", err)
	}
}

// TestConcurrent: no more files are at the server than may be.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	const most = 3
	var now, highest atomic.Int32
	full := make(chan struct{})
	var once sync.Once
	address := server(t, func(w http.ResponseWriter, r *http.Request, file string) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			h := highest.Load()
			if n <= h || highest.CompareAndSwap(h, n) {
				break
			}
		}
		if n >= most {
			once.Do(func() { close(full) })
		}
		<-full // until as many are there as may be
		fmt.Fprint(w, "<p>x")
	})
	c := client(t, address, Options{Concurrent: most})
	var wg sync.WaitGroup
	for range 4 * most {
		wg.Go(func() {
			if _, _, err := c.Read(t.Context(), []byte("x"), "", "", Limits{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if highest.Load() != most {
		t.Errorf("%d at once", highest.Load())
	}
}

// TestAnswers: an answer that is too long, of another type, or without text.
func TestAnswers(t *testing.T) {
	t.Parallel()
	address := server(t, func(w http.ResponseWriter, r *http.Request, file string) {
		switch file {
		case "long":
			for range 10_000 {
				fmt.Fprint(w, "<p>"+strings.Repeat("x", 997)+"</p>")
			}
		case "type":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{}")
		case "empty":
			fmt.Fprint(w, "<html><head><meta name='dc:title' "+
				"content='Scan'></head><body><div/></body></html>")
		}
	})
	c := client(t, address, Options{Answer: 1e6})
	html, truncated, err := c.Read(t.Context(), []byte("long"), "", "", Limits{})
	if err != nil || !truncated || len(html) < 9e5 || len(html) > 11e5 {
		t.Errorf("long: %d bytes, truncated %v, %v", len(html), truncated, err)
	}
	if _, _, err = c.Read(t.Context(), []byte("type"), "", "", Limits{}); err == nil ||
		!strings.Contains(err.Error(), "application/json") {
		t.Errorf("another type: %v", err)
	}
	html, truncated, err = c.Read(t.Context(), []byte("empty"), "", "", Limits{})
	if !errors.Is(err, ErrNoText) || truncated || !strings.Contains(string(html),
		"<title>Scan</title>") {
		t.Errorf("empty: truncated %v, %v\n%s", truncated, err, html)
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{" a\r\n\tb\x00\x1bc ", 10, "a bc"},
		{"ääää", 5, "ää"},
		{"\xff\xfe", 5, ""},
		{"abc", 0, ""},
	} {
		if got := oneLine(c.in, c.most); got != c.want {
			t.Errorf("%q: %q", c.in, got)
		}
	}
}
