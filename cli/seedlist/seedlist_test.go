package seedlist

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// TestValid drops what is no URL, names its place and what was meant, and numbers the rest anew.
func TestValid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seeds.txt")
	if err := os.WriteFile(file, []byte("# mine\nftp://a.test/\nhttp://b.test/\n"), 0o600); err !=
		nil {
		t.Fatal(err)
	}
	var errout bytes.Buffer
	env := &command.Env{Stderr: &errout, Stdin: strings.NewReader("c.test:81/x\n")}
	seeds, err := Read(env, []string{file, "d.test", "e"}, []string{file, "-"})
	if err != nil || len(seeds) != 6 {
		t.Fatalf("%+v, %v", seeds, err)
	}
	GuessSchemes(seeds)
	valid := Valid(env, seeds)
	var got []string
	for i, s := range valid {
		if s.Line != i+1 || s.Guessed != strings.HasPrefix(s.URL, "https://") {
			t.Errorf("%+v", s)
		}
		got = append(got, s.Place+" "+s.URL)
	}
	if want := " https://d.test|" + file +
		":3 http://b.test/|standard input:1 https://c.test:81/x"; strings.Join(got, "|") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, want := range []string{"seed: \"" + file + "\": it is a file, not a URL",
		`seed: "e": it is not a URL`, file + `:2: "ftp://a.test/": not an http or https URL`} {
		if !strings.Contains(errout.String(), want) {
			t.Errorf("%q is missing in\n%s", want, errout.String())
		}
	}
	if got := Complaint(valid, crawl.SeedError{Line: 2, Input: "x", Error: "why\x1b"}); got != file+
		`:3: "x": why\x1b` {
		t.Errorf("%q", got)
	}
}
