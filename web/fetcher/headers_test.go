package fetcher

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHeaders: over HTTP/1 and HTTP/2 the server gets the headers of the request, in place of the
// Fetcher's own or beside them, and the archive has no secret, wherever else its bytes stand.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "https"} {
		got := make(chan *http.Request, 1)
		srv := httptest.NewUnstartedServer(
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got <- r
				io.WriteString(w, "x")
			}),
		)
		if scheme == "https" {
			srv.EnableHTTP2 = true
			srv.StartTLS()
		} else {
			srv.Start()
		}
		t.Cleanup(srv.Close)
		r := ask(t, scheme, srv.Listener.Addr().String(), "/k?a=Cookie:%20s3cret")
		r.Cookie, r.Authorization, r.TLSRecord = "s3cret", "Bearer s3cret", true
		r.Headers = []Header{
			{
				Name:  "accept-language",
				Value: "de",
			}, {Name: "ACCEPT", Value: "*/*"}, {Name: "X-Key", Value: "s3cret", Secret: true},
			{
				Name:  "X-Open",
				Value: "s3cret",
			}, {Name: "x-two", Value: "1"}, {Name: "x-two", Value: "2"}, {Name: "x-none", Value: ""},
			{Name: "user-agent", Value: "other/1", Secret: true},
		}
		f := newFetcher(t, Options{})
		resp := mustDo(t, f, r)
		q := <-got
		for name, want := range map[string]string{
			"Accept-Language": "[de]", "Accept": "[*/*]", "X-Key": "[s3cret]", "X-Open": "[s3cret]",
			"X-Two": "[1 2]", "X-None": "[]",
			"User-Agent": "[other/1]", "Authorization": "[Bearer s3cret]", "Cookie": "[s3cret]",
			"Accept-Encoding": "[" + accepted + "]",
		} {
			if values := fmt.Sprint(q.Header[name]); values != want {
				t.Errorf("%s: the server got %s: %s, want %s", q.Proto, name, values, want)
			}
		}
		host := srv.Listener.Addr().String()
		want := "GET /k?a=Cookie:%20s3cret HTTP/1.1\r\nHost: " + host +
			"\r\nUser-Agent: <redacted>\r\nAccept: */*\r\n" +
			"Accept-Encoding: " + accepted +
			"\r\nCookie: <redacted>\r\nAuthorization: <redacted>\r\naccept-language: de\r\n" +
			"X-Key: <redacted>\r\nX-Open: s3cret\r\nx-two: 1\r\nx-two: 2\r\n\r\n"
		if string(resp.RequestHead) != want {
			t.Errorf("archived:\n%s\nwant:\n%s", resp.RequestHead, want)
		}
		resp.Release()
		for _, bad := range []func(*Request){
			func(r *Request) { r.Authorization = "s3cret\r\nEvil: 1" },
			func(r *Request) { r.Headers = []Header{{Name: "X", Value: "s3cret\x00"}} },
			func(r *Request) { r.Headers = []Header{{Name: "Cookie", Value: "s3cret"}} },
		} {
			q := r
			bad(&q)
			_, err := f.Do(t.Context(), q)
			if e := wantCategory(t, err, Other); strings.Contains(e.Error(), "s3cret") ||
				e.Contacted {
				t.Errorf("%v", e)
			}
		}
	}
}

func TestCheckHeader(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Host": "URL", "connection": "connection", "Content-Length": "connection",
		"Transfer-Encoding": "connection", "TE": "connection",
		"Upgrade": "connection", "Keep-Alive": "connection", "Trailer": "connection",
		"Expect": "connection", "HTTP2-Settings": "connection",
		"Proxy-Authorization": "secret:NAME@", "Proxy-Anything": "secret:NAME@", "COOKIE": "cookies-file",
		"Authorization":   "auth",
		"Accept-Encoding": "decode", "Range": "whole", "If-None-Match": "changed",
		"if-anything": "changed",
		"Signature":   "--bot-key", "Signature-Input": "--bot-key", "Signature-Agent": "--bot-key",
		"": "no name", "A B": "no name", "A:": "no name", ":path": "no name", "Ä": "no name",
		"A\r\nB": "no name", strings.Repeat("a", 129): "128 bytes",
	} {
		if err := CheckHeader(name, "hunter2"); err == nil ||
			!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want an error with %q", name, err, want)
		}
	}
	for value, want := range map[string]string{
		"hunter2\r\nA: b": "control", "hunter2\x00": "control", "hunter2\x7f": "control",
		" hunter2": "blank", "hunter2\t": "blank",
		strings.Repeat("hunter2", 2000): "8192",
	} {
		if err := CheckHeader("X-A", value); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%.20q: %v, want an error with %q", value, err, want)
		}
	}
	for name, value := range map[string]string{
		"Accept-Language": "de, en;q=0.5",
		"User-Agent":      "a",
		"DNT":             "1",
		"X_Y":             "a\tb",
		"x":               "ä",
		"Referer":         "",
	} {
		if err := CheckHeader(name, value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSecretsAreNotPrinted: no way of printing shows a header that is secret, or the credentials of
// a request.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	h := Header{Name: "X-Key", Value: "hunter2", Secret: true}
	r := ask(t, "http", "127.0.0.1:80", "/")
	r.Cookie, r.Authorization, r.Headers = "hunter2", "hunter2", []Header{h}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "header", h, "request", r)
	texts := []string{log.String()}
	for _, form := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		texts = append(texts, fmt.Sprintf(form, []any{h, r, []Header{h}}))
	}
	for _, v := range []any{h, r} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	for _, text := range texts {
		if strings.Contains(text, "hunter2") ||
			strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("printed: %s", text)
		}
	}
	if h.Secret = false; h.String() != "X-Key: hunter2" {
		t.Errorf("not secret: %v", h)
	}
}
