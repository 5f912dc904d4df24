package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/cli/command"
)

// TestSignalsBeforeTheNodeRuns: a signal ends a command that reads its seeds from a
// person, or that opens data on a disk that does not answer; here, a pipe that
// nobody writes to. What was begun stays behind until the process ends.
func TestSignalsBeforeTheNodeRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "VERSION")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	typed, keyboard := io.Pipe() // nobody types
	t.Cleanup(func() { _ = keyboard.Close() })
	node := func(verb string, more ...string) []string {
		return append([]string{verb, "--http", "127.0.0.1:0", "--gossip", "127.0.0.1:0", "--rpc",
			"127.0.0.1:0",
			"--data-dir", dir, "--contact", "a@example.org"}, more...)
	}
	for name, tc := range map[string]struct {
		signals int
		code    int
		says    string
		args    []string
	}{
		"start":         {1, command.ExitOK, "while the data are being opened", node("start")},
		"start, forced": {2, command.ExitForced, "while the data are being opened", node("start")},
		"crawl":         {1, command.ExitInterrupted, "", node("crawl", "https://a.example/")},
		"seeds of start": {1, command.ExitInterrupted, "nothing was begun",
			node("start", "--seeds", "-")},
		"seeds of crawl": {1, command.ExitInterrupted, "nothing was begun",
			node("crawl", "https://a.example/", "--seeds", "-")},
		"seeds of seed add": {1, command.ExitInterrupted, "nothing was begun",
			[]string{"seeds", "add", "-", "--addr", "127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := make(chan os.Signal, 4)
			for range tc.signals {
				signals <- syscall.SIGINT
			}
			var errout bytes.Buffer
			begun := time.Now()
			code := Main(context.Background(), tc.args,
				Env{Stdin: typed, Stdout: &bytes.Buffer{}, Stderr: &errout,
					Lookup: func(string) (string, bool) { return "", false }, Signals: signals,
					Executable: "crawlnode", Version: "test"})
			if code != tc.code || !strings.Contains(errout.String(), tc.says) ||
				time.Since(begun) > slack(openGrace+5*time.Second) {
				t.Errorf("exit code %d after %v, want %d and %q:\n%s", code, time.Since(begun), tc.code,
					tc.says, errout.String())
			}
		})
	}
}
