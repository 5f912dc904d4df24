package fetcher

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const aDate = "Sat, 01 Jan 2000 00:00:00 GMT"

// Only validators that ask for what they say are kept, and only of answers that have the whole
// page.
func TestValidators(t *testing.T) {
	t.Parallel()
	for tag, kept := range map[string]bool{
		`"v1"`: true, `W/"v1"`: true, `""`: true, `W/""`: true, `"a,b*"`: true, "\"\xe9\"": true,
		"v1": true, "W/v1": true, "5f-6a7b:gzip": true,
		"": false, "*": false, "W/*": false, `W/`: false, `"`: false, `"a`: false, `a"`: false,
		`"a", *`: false, `"a", "b"`: false, "a,b": false, "a b": false,
		"\"a\r\nEvil: 1\"": false, "\"a\x00\"": false, "\"a\x7f\"": false, "\"a b\"": false,
		"\xe9": false,
		`"` + strings.Repeat("x", maxETag-2) + `"`: true, `"` + strings.Repeat("x", 1000) + `"`: false,
	} {
		r := &Response{Status: 200, Header: http.Header{"Etag": {tag}}}
		if got, _ := Validators(r); (got == tag && tag != "") != kept || got != "" && got != tag {
			t.Errorf("tag %.40q: %.40q is kept, want it: %t", tag, got, kept)
		}
	}
	for date, kept := range map[string]bool{
		aDate: true, "Saturday, 01-Jan-00 00:00:00 GMT": true, "Sat Jan  1 00:00:00 2000": true,
		"": false, "yesterday": false, "0": false, "2000-01-01T00:00:00Z": false,
		aDate + strings.Repeat(" ", 100) + "x": false, aDate + "\r\nEvil: 1": false,
	} {
		r := &Response{Status: 200, Header: http.Header{"Last-Modified": {date}}}
		if _, got := Validators(r); (got == date && date != "") != kept {
			t.Errorf("date %q: %q is kept, want it: %t", date, got, kept)
		}
	}
	for status, kept := range map[int]bool{
		200: true,
		203: true,
		304: true,
		206: false,
		301: false,
		404: false,
		410: false,
		412: false,
		500: false,
	} {
		tag, date := Validators(
			&Response{Status: status, Header: http.Header{"Etag": {`"v"`}, "Last-Modified": {aDate}}})
		if (tag != "") != kept || (date != "") != kept {
			t.Errorf("status %d: %q and %q are kept, want them: %t", status, tag, date, kept)
		}
	}
}

// FuzzValidators: what is kept of an answer is bounded, is sent back as it came, and adds no line
// to the request.
func FuzzValidators(f *testing.F) {
	for _, s := range []string{`"v1"`, `W/"v1"`, "*", "a\r\nb: c", "\"\xff\"", `"a", *`} {
		f.Add(s, aDate)
	}
	f.Add("", "Saturday, 01-Jan-00 00:00:00 GMT")
	fetch := New(Options{Allowed: loopback})
	f.Fuzz(func(t *testing.T, tag, date string) {
		etag, modified := Validators(
			&Response{Status: 200, Header: http.Header{"Etag": {tag}, "Last-Modified": {date}}})
		r := ask(t, "http", "127.0.0.1:80", "/")
		r.Addr, r.ETag, r.LastModified = netip.MustParseAddr("127.0.0.1"), etag, modified
		x, err := fetch.newExchange(context.Background(), &r)
		if err != nil || len(x.head) > 600 {
			t.Fatalf("head of %d bytes, %v", len(x.head), err)
		}
		sent, err := http.ReadRequest(newReader(x.head))
		if err != nil || sent.Header.Get("If-None-Match") != etag ||
			sent.Header.Get("If-Modified-Since") != modified || etag == "*" {
			t.Fatalf("kept %q and %q, sent %v, %v", etag, modified, sent, err)
		}
		lines := 4 // the request, Host, Accept, Accept-Encoding; none for the empty user agent
		for _, v := range []string{etag, modified} {
			if v != "" {
				lines++
			}
		}
		if got := strings.Count(string(x.head), "\r\n") - 1; got != lines ||
			x.conditional() != (lines > 4) {
			t.Fatalf("%d lines in %q, want %d", got, x.head, lines)
		}
	})
}

// A 304 answers a condition. Without one, or with a payload, it is no answer, and its connection is
// not kept.
func TestNotModified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, tag, date, more string
		ok                    bool
	}{
		{name: "by tag", tag: `"v1"`, ok: true},
		{name: "by date", date: aDate, ok: true},
		{name: "without a condition"},
		{name: "with a condition that was not sent", tag: "*"},
		{name: "followed by bytes", tag: `"v1"`, more: "surprise", ok: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := says(t, "HTTP/1.1 304 Not Modified\r\nETag: \"v2\"\r\nContent-Length: 7\r\n\r\n"+c.more)
			f := newFetcher(t, Options{})
			r := ask(t, "http", srv.addr, "/")
			r.ETag, r.LastModified = c.tag, c.date
			resp, err := f.Do(context.Background(), r)
			if !c.ok {
				wantCategory(t, err, Protocol)
				if f.IdleConns() != 0 {
					t.Error("the connection is kept")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Release()
			if tag, _ := Validators(resp); resp.Status != 304 || !resp.Conditional || len(resp.Body) > 0 ||
				tag != `"v2"` {
				t.Errorf("%+v", resp)
			}
		})
	}
}

// Over HTTP/2 a 304 with DATA frames is not taken for the page.
func TestNotModifiedOverHTTP2(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` || r.URL.Path == "/always" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = io.WriteString(w, "page")
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	f := newFetcher(t, Options{TLSRecord: true, Timeout: time.Minute})
	addr := srv.Listener.Addr().String()
	first := mustDo(t, f, ask(t, "https", addr, "/"))
	tag, _ := Validators(first)
	if first.Status != 200 || first.Conditional || tag != `"v1"` {
		t.Errorf("first %+v", first)
	}
	first.Release()
	again := ask(t, "https", addr, "/")
	again.ETag = tag
	if second := mustDo(t, f, again); second.Status != 304 || second.Proto != "HTTP/2.0" ||
		!second.Conditional {
		t.Errorf("second %+v", second)
	}
	_, err := f.Do(context.Background(), ask(t, "https", addr, "/always"))
	wantCategory(t, err, Protocol)
	if err := unasked(&Response{Status: 304, Conditional: true, RawBody: []byte("x")}); err == nil ||
		err.Category != Protocol {
		t.Errorf("a 304 with a payload: %v", err)
	}
}
