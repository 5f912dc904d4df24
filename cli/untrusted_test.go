package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/cli/command/commandtest"
)

// obeyable is in the title, the text and the headers of a page: a terminal that gets it as it is
// sets its title, clears itself, or shows a name backwards.
const obeyable = "\x1b]0;owned\x07\x1b[2J \u009b31m \u202egpj.exe\u2069 \x9b5m \u2066"

// TestTerminalObeysNoPage prints a hostile page by verbs that print what came from outside: on a
// terminal nothing is left to obey, and a file gets the bytes.
func TestTerminalObeysNoPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	block := "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nX-Evil: " + obeyable +
		"\r\n\r\n<title>needle " + obeyable + "</title><p>needle " + obeyable
	var record bytes.Buffer
	z := gzip.NewWriter(&record)
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: response\r\n"+
		"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"+
		"WARC-Date: 2026-03-01T12:00:00Z\r\nWARC-Target-URI: http://h.test/\r\n"+
		"WARC-Identified-Payload-Type: text/html\r\nContent-Type: application/http;msgtype=response\r\n"+
		"Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(
		`test,h)/ 20260301120000 {"url":"http://h.test/","mime":"text/html","status":"200","digest":"sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","length":"%d","offset":"0","filename":"x.warc.gz"}`+
			"\n",
		record.Len())
	file, index := filepath.Join(dir, "warc", "x.warc.gz"), filepath.Join(dir, "index")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700),
		os.WriteFile(file, record.Bytes(), 0o600),
		os.WriteFile(filepath.Join(dir, "warc", "x.cdxj"), []byte(line), 0o600)); err != nil {
		t.Fatal(err)
	}
	quiet := Env{
		Stdin:      strings.NewReader(""),
		Stdout:     io.Discard,
		Stderr:     io.Discard,
		Lookup:     func(string) (string, bool) { return "", false },
		Executable: "crawlnode",
		Version:    "1",
	}
	if code := Main(context.Background(), []string{"index", "--data-dir", index,
		file}, quiet); code != command.ExitOK {
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
		if code := Main(context.Background(), strings.Fields(c.args), env); code != command.ExitOK ||
			!strings.Contains(raw.String(), c.has) {
			t.Errorf("%s into a file: exit code %d, %q", c.args, code, raw.String())
		}
		terminal, shown := commandtest.OpenTerminal(t, 200)
		env.Stdout, env.Stderr = terminal, terminal
		if code := Main(context.Background(), strings.Fields(c.args), env); code != command.ExitOK {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		text := shown()
		if !strings.Contains(text, "needle") && !strings.Contains(text, "h.test") &&
			!strings.Contains(text, "X-Evil") {
			t.Errorf("%s shows %q", c.args, text)
		}
		if strings.ContainsAny(text, "\x1b\x07\u009b\u202e\u2066\u2069") ||
			strings.Contains(strings.ToValidUTF8(text, "\x9b"), "\x9b") {
			t.Errorf("%s on a terminal: %q", c.args, text)
		}
	}
}
