package dashboard

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
)

// bomb is the body of an answer that unpacks to size bytes, packed so many times.
func bomb(t *testing.T, start string, size, times int) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, start); err != nil {
		t.Fatal(err)
	}
	zeros := bytes.Repeat([]byte{' '}, 1<<20)
	for range size >> 20 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if times > 1 {
		again := new(bytes.Buffer)
		z := gzip.NewWriter(again)
		if _, err := z.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		b = *again
	}
	return b.String()
}

// TestBombIsNotUnpacked asks for what is archived of pages that unpack to a quarter of a gigabyte:
// what is allocated depends on what is shown.
func TestBombIsNotUnpacked(t *testing.T) { //nolint:paralleltest // counts what is allocated
	const size = 192 << 20
	once, twice := bomb(t, "<p>begin", size, 1), bomb(t, "<p>begin", size, 2)
	for _, c := range []struct{ what, head, body string }{
		{"a page", "Content-Type: text/html\r\nContent-Encoding: gzip", once},
		{"a page packed twice", "Content-Type: text/html\r\nContent-Encoding: gzip, gzip", twice},
		{"a page in two header lines", "Content-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip", twice},
		{"XHTML", "Content-Type: application/xhtml+xml\r\nContent-Encoding: x-gzip", once},
		{"a page in UTF-16", "Content-Type: text/html; charset=utf-16\r\nContent-Encoding: gzip", once},
	} {
		f := &fakeNode{text: "x", archive: capture(t, "HTTP/1.1 200 OK\r\n"+c.head, c.body)}
		h := serve(f, nil)
		for _, target := range []string{"/archive?url=http://a.test/",
			"/urls?url=http://a.test/&view=text", "/urls?url=http://a.test/&view=page",
			"/urls?url=http://a.test/&view=headers"} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := get(h, target)
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; w.Code != 200 || used > 144<<20 {
				t.Errorf("%s, %s: %d, %d bytes were allocated", c.what, target, w.Code, used)
			}
		}
		if w := get(h, "/archive?url=http://a.test/"); !strings.Contains(w.Body.String(),
			"Only the first") {
			t.Errorf("%s: nothing says that it is cut", c.what)
		}
	}
}

// stuck is a client that reads nothing until it is let go.
type stuck struct {
	httptest.ResponseRecorder
	begun, free chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	s.begun <- struct{}{}
	<-s.free
	return len(b), nil
}

// TestSlotIsHeldUntilSent has as many clients as there are slots, which do not read their answers:
// the pages are still in memory, so that others wait and are turned away.
func TestSlotIsHeldUntilSent(t *testing.T) {
	t.Parallel()
	archived := capture(t, "HTTP/1.1 200 OK\r\nContent-Type: text/html", "<p>Read")
	for _, target := range []string{"/archive?url=http://a.test/", "/urls?url=http://a.test/"} {
		synctest.Test(t, func(t *testing.T) {
			h := serve(&fakeNode{text: "x", archive: archived}, nil)
			s := &stuck{begun: make(chan struct{}), free: make(chan struct{})}
			for range readsAtOnce {
				go h.ServeHTTP(&stuck{ResponseRecorder: *httptest.NewRecorder(), begun: s.begun, free: s.free},
					httptest.NewRequest(http.MethodGet, target, nil))
				<-s.begun
			}
			if w := get(h, target); w.Code != 503 || w.Header().Get("Retry-After") == "" {
				t.Errorf("%s beside %d others: %d", target, readsAtOnce, w.Code)
			}
			if w := get(h, "/urls"); w.Code != 200 {
				t.Errorf("a page without content waits too: %d", w.Code)
			}
			close(s.free)
			synctest.Wait()
			if w := get(h, target); w.Code != 200 {
				t.Errorf("%s after them: %d", target, w.Code)
			}
		})
	}
}
