package focus

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/web/urlnorm"
)

// pageText is a page about a subject, unlike all others about it.
func pageText(subject string, i int) string {
	return fmt.Sprintf(
		"<!doctype html><title>%s %d</title><p>The %s number %c of %s things, see %s%c.",
		subject, i, subject, 'a'+i, subject, subject, 'a'+i*7%26)
}

// folder writes so many pages about a subject.
func folder(t *testing.T, subject string, pages int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range pages {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.html", subject, i)),
			[]byte(pageText(subject, i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// dataDir is a node's data directory with an archive of pages about a subject.
func dataDir(t *testing.T, subject string, pages int) string {
	t.Helper()
	dir := t.TempDir()
	a, err := archive.Open(filepath.Join(dir, "warc"), archive.Options{Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	put := func(path string, status int, kind, body string) {
		u, err := urlnorm.Parse("http://h.test/" + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Put(t.Context(), crawl.Capture{
			URL:         u,
			FetchedAt:   time.Unix(1e9, 0),
			Addr:        netip.MustParseAddr("127.0.0.1"),
			Status:      status,
			RequestHead: []byte("GET / HTTP/1.1\r\n\r\n"),
			ResponseHead: fmt.Appendf(nil,
				"HTTP/1.1 %d X\r\nContent-Type: %s\r\n\r\n", status, kind),
			Body:        []byte(body),
			ContentType: kind,
			Digest:      sha1.Sum([]byte(body)),
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pages {
		put(fmt.Sprint(subject, i), 200, "text/html", pageText(subject, i))
	}
	put("missing", 404, "text/html", "<p>page not found")
	put("picture", 200, "image/png", "no words at all")
	put("notes", 200, "text/plain", subject+" notes in plain text")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runVerb(t *testing.T, v command.Verb) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = v.Run(t.Context(), &command.Env{Stdout: &stdout, Stderr: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestTrainAndScore(t *testing.T) {
	t.Parallel()
	sql, other := folder(t, "sql", 20), dataDir(t, "plots", 20)
	if err := os.WriteFile(filepath.Join(sql, "picture.png"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(sql, "sql-0.html"), filepath.Join(sql, "again.html")); err !=
		nil {
		t.Fatal(err)
	}
	var models [2][]byte
	file := filepath.Join(t.TempDir(), "sql.focus")
	for i := range models {
		code, out, errs := runVerb(t,
			&TrainVerb{Like: Sources{sql}, Unlike: Sources{other}, Output: file, Seed: 1})
		if code != command.ExitOK || errs != "" {
			t.Fatalf("code %d: %s%s", code, out, errs)
		}
		for _, want := range []string{"left out of --like: 1 page with a text that was read before",
			"20 of the topic, 21 others", "AUC", "for       ", "against   ", "sql", "wrote " + file} {
			if !strings.Contains(out, want) {
				t.Errorf("no %q in\n%s", want, out)
			}
		}
		var err error
		if models[i], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(models[0], models[1]) {
		t.Error("the same pages made two models")
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".focus-*")); err != nil ||
		len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	code, out, errs := runVerb(t,
		&ScoreVerb{Model: file, Files: []string{sql, filepath.Join(other, "warc")}})
	if code != command.ExitOK || errs != "" {
		t.Fatalf("code %d: %s%s", code, out, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	is := regexp.MustCompile(`^[01]\.\d{3}  \S`)
	for _, line := range lines {
		if !is.MatchString(line) || (line > "0.5") != strings.Contains(line, ".html") {
			t.Errorf("%q", line)
		}
	}
	if len(lines) != 42 || !slices.ContainsFunc(lines,
		func(l string) bool { return strings.HasSuffix(l, "  http://h.test/plots3") }) {
		t.Errorf("%d lines:\n%s", len(lines), out)
	}
	if code, out, _ := runVerb(t, &ScoreVerb{Model: file}); code != command.ExitOK ||
		!strings.Contains(out, "20 of the topic") {
		t.Errorf("the model describes itself as %q", out)
	}
}

func TestWrongUses(t *testing.T) {
	t.Parallel()
	sql, few, page := folder(t, "sql", 20), folder(t, "plots", 3), filepath.Join(t.TempDir(),
		"page.html")
	if err := os.WriteFile(page, []byte("<p>one page"), 0o600); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(t.TempDir(), "m")
	for name, c := range map[string]struct {
		verb command.Verb
		code int
		says []string
	}{
		"a folder that is missing": {
			&TrainVerb{Like: Sources{"/no/such"}, Unlike: Sources{sql}, Output: model},
			command.ExitUsage, []string{"--like: ", "/no/such", "name a folder"}},
		"another kind of file": {
			&TrainVerb{Like: Sources{sql}, Unlike: Sources{"/etc/passwd"}, Output: model},
			command.ExitUsage,
			[]string{"--unlike: /etc/passwd", ".warc.gz"},
		},
		"too few pages": {&TrainVerb{Like: Sources{sql}, Unlike: Sources{few}, Output: model},
			command.ExitUsage, []string{"too few pages: 3", "not of the topic", "at least 10"}},
		"the same pages twice": {&TrainVerb{Like: Sources{sql}, Unlike: Sources{sql}, Output: model},
			command.ExitUsage, []string{"too few pages: 0"}},
		"nowhere to write": {
			&TrainVerb{
				Like:   Sources{sql},
				Unlike: Sources{folder(t, "plots", 20)},
				Output: "/no/such/model",
			},
			command.ExitStorage,
			[]string{"--output: ", "the folder /no/such does not exist: make it first"},
		},
		"a page for a model": {&ScoreVerb{Model: page}, command.ExitUsage,
			[]string{page, "is not a model", "focus train"}},
		"no model": {&ScoreVerb{Model: "/no/such"}, command.ExitUsage,
			[]string{"/no/such", "focus train"}},
	} {
		code, out, errs := runVerb(t, c.verb)
		if code != c.code || out != "" {
			t.Errorf("%s: code %d, %q", name, code, out)
		}
		for _, want := range c.says {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: no %q in %q", name, want, errs)
			}
		}
	}
	if _, err := os.Stat(model); err == nil {
		t.Error("a model was written all the same")
	}
}

// What is before the damage of an archive counts, and the damage is told.
func TestTornArchive(t *testing.T) {
	t.Parallel()
	files, err := archive.Files(filepath.Join(dataDir(t, "plots", 30), "warc"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(t.TempDir(), "torn.warc.gz")
	if err := os.WriteFile(torn, b[:len(b)*3/4], 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runVerb(t, &TrainVerb{
		Like:   Sources{folder(t, "sql", 20)},
		Unlike: Sources{torn},
		Output: filepath.Join(t.TempDir(), "m"),
		Seed:   1,
	})
	if code != command.ExitOK || !strings.Contains(errs, "torn.warc.gz: no whole record at offset") ||
		!strings.Contains(out, "20 of the topic") {
		t.Errorf("code %d: %q\n%s", code, errs, out)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	v := &TrainVerb{
		Like:   Sources{folder(t, "sql", 20)},
		Unlike: Sources{folder(t, "plots", 20)},
		Output: filepath.Join(t.TempDir(), "m"),
	}
	if code := v.Run(ctx, &command.Env{
		Stdout: &stdout,
		Stderr: &stderr,
	}); code != command.ExitInterrupted || !strings.Contains(stderr.String(), "nothing was written") {
		t.Errorf("code %d: %s", code, stderr.String())
	}
}

// Several sources may follow a flag, as a shell makes them of a pattern.
func TestSources(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args         string
		like, unlike string
	}{
		{"train --like a --unlike b -o m", "a", "b"},
		{"train --like a b c --unlike d e -o m", "a b c", "d e"},
		{"train --like a --like b -o m --unlike=c", "a b", "c"},
		{"train -o m --unlike x --like y z", "y z", "x"},
		{"train --like --unlike b -o m", "", ""},
		{"train --like a -o m", "", ""},
		{"train --like a --unlike b", "", ""},
	} {
		v := &Verbs{}
		parser, err := kong.New(v)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parser.Parse(strings.Fields(c.args))
		if c.like == "" {
			if err == nil {
				t.Errorf("%q was taken: %+v", c.args, v.Train)
			}
			continue
		}
		if got := strings.Join(v.Train.Like, " "); err != nil || got != c.like ||
			strings.Join(v.Train.Unlike, " ") != c.unlike {
			t.Errorf("%q: %v, like %q, unlike %q", c.args, err, v.Train.Like, v.Train.Unlike)
		}
	}
}
