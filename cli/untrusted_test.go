package cli

import (
	"bytes"
	"context"
	"crypto/sha1"
	"io"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"crawlnode/cli/command"
	"crawlnode/cli/command/commandtest"
	"crawlnode/crawl"
	"crawlnode/store/archive"
	"crawlnode/web/urlnorm"
)

// obeyable is in the title, the text and the headers of a page: a terminal that gets it as it is sets its title, clears
// itself, or shows a name backwards.
const obeyable = "\x1b]0;owned\x07\x1b[2J \u009b31m \u202egpj.exe\u2069 \x9b5m \u2066"

// TestTerminalObeysNoPage prints a hostile page by verbs that print what came from outside: on a terminal nothing
// is left to obey, and a file gets the bytes.
func TestTerminalObeysNoPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, err := archive.Open(filepath.Join(dir, "warc"), archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	u, err := urlnorm.Parse("http://h.test/")
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("<title>needle " + obeyable + "</title><p>needle " + obeyable)
	ref, err := a.Put(t.Context(), crawl.Capture{URL: u, FetchedAt: time.Unix(1.7e9, 0), Addr: netip.MustParseAddr("127.0.0.1"), Status: 200, Body: body, Digest: sha1.Sum(body),
		ContentType: "text/html", RequestHead: []byte("GET / HTTP/1.1\r\n\r\n"), ResponseHead: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Evil: " + obeyable + "\r\n\r\n")})
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	file, index := filepath.Join(dir, "warc", ref.File), filepath.Join(dir, "index")
	quiet := Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Lookup: func(string) (string, bool) { return "", false }, Executable: "crawlnode", Version: "1"}
	if code := Main(context.Background(), []string{"index", "--data-dir", index, file}, quiet); code != command.ExitOK {
		t.Fatal(code)
	}
	for _, c := range []struct {
		args string
		has  string // in a file
	}{
		{"cat http://h.test/ --data-dir " + dir, obeyable},
		{"cat http://h.test/ --raw --data-dir " + dir, obeyable},
		{"cat http://h.test/ --headers --data-dir " + dir, obeyable},
		{"cat http://h.test/ --text --data-dir " + dir, "\u202egpj.exe"},
		{"warc extract --headers --url http://h.test/ " + file, obeyable},
		{"warc extract --url http://h.test/ " + file, obeyable},
		{"warc list -o json " + file, "http://h.test/"},
		{"export jsonl --data-dir " + dir, "\u202egpj.exe"},
		{"search needle -o json --data-dir " + index, "\u202egpj.exe"},
		{"search needle --data-dir " + index, "needle"},
	} {
		var raw bytes.Buffer
		env := quiet
		env.Stdout, env.Stderr = &raw, &raw
		if code := Main(context.Background(), strings.Fields(c.args), env); code != command.ExitOK || !strings.Contains(raw.String(), c.has) {
			t.Errorf("%s into a file: exit code %d, %q", c.args, code, raw.String())
		}
		terminal, shown := commandtest.OpenTerminal(t, 200)
		env.Stdout, env.Stderr = terminal, terminal
		if code := Main(context.Background(), strings.Fields(c.args), env); code != command.ExitOK {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		text := shown()
		if !strings.Contains(text, "needle") && !strings.Contains(text, "h.test") && !strings.Contains(text, "X-Evil") {
			t.Errorf("%s shows %q", c.args, text)
		}
		if strings.ContainsAny(text, "\x1b\x07\u009b\u202e\u2066\u2069") || strings.Contains(strings.ToValidUTF8(text, "\x9b"), "\x9b") {
			t.Errorf("%s on a terminal: %q", c.args, text)
		}
	}
}
