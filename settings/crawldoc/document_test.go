package crawldoc

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/web/scope"
)

func testSettings() crawl.Settings {
	c := config.Default()
	return c.Settings("test")
}

func TestDocumentsAreOrderedTheSameWayEverywhere(t *testing.T) {
	t.Parallel()
	docs := []*Document{{Version: 0}, {Version: 1, By: "a"}, {Version: 1, By: "b"},
		{Version: 2, By: "a"}}
	for i, a := range docs {
		for j, b := range docs {
			if a.NewerThan(b) != (i > j) {
				t.Errorf("%+v newer than %+v: %v", a, b, !(i > j))
			}
		}
	}
}

func TestDocumentRunsAndRests(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	idle := &Document{State: crawl.CrawlIdle}
	ran := idle.Enter(crawl.CrawlRunning, "", "a", at(0))
	if idle.Version != 0 || idle.Started != nil {
		t.Error("entering a state changed the document that it began from")
	}
	still := ran.Enter(crawl.CrawlRunning, "", "b", at(5))
	if !still.Started.Equal(at(0)) || !still.RunSince.Equal(at(0)) || still.Version != 2 ||
		still.By != "b" {
		t.Errorf("running again: %+v", still)
	}
	done := still.Enter(crawl.CrawlFinished, crawl.FinishExhausted, "a", at(10))
	if done.RanFor != 10*time.Second || done.RunSince != nil || !done.Ended.Equal(at(10)) ||
		done.Reason != crawl.FinishExhausted || done.State != crawl.CrawlFinished {
		t.Errorf("finished: %+v", done)
	}
	again := done.Enter(crawl.CrawlRunning, "", "c", at(100))
	if again.Ended != nil {
		t.Error("a crawl that runs again has ended")
	}
	for _, c := range []struct {
		doc  *Document
		at   int
		want time.Duration
	}{
		{idle, 50, 0}, {ran, 7, 7 * time.Second}, {ran, -3, 0}, {done, 99, 10 * time.Second}, {again, 103, 13 * time.Second},
	} {
		if got := c.doc.RunningFor(at(c.at)); got != c.want {
			t.Errorf("%s at %d s has run for %v, want %v", c.doc.State, c.at, got, c.want)
		}
	}
	if !again.Started.Equal(at(0)) || again.Reason != "" {
		t.Errorf("the second run: %+v", again)
	}
}

func openStore(t *testing.T, path string) (*Store, *datadir.Dir) {
	t.Helper()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, testSettings())
	if err == nil {
		err = s.Begin("0123456789abcdef")
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

func closeStore(t *testing.T, s *Store, dir *datadir.Dir) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	dir.Close()
}

func TestDocumentAndScopeSurvive(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	s, dir := openStore(t, path)
	if d := s.Current().Doc; d.Version != 0 || d.State != crawl.CrawlIdle {
		t.Fatalf("a fresh document: %+v", d)
	}
	if doc, err := s.Change(func(*Document) *Document { return nil }); doc != nil || err != nil {
		t.Errorf("no change: %v, %v", doc, err)
	}
	now := time.Now()
	if _, err := s.Change(func(d *Document) *Document {
		return d.Enter(crawl.CrawlRunning, "", "a", now)
	}); err != nil {
		t.Fatal(err)
	}
	older := &Document{Version: 1, By: "A", Settings: testSettings(), State: crawl.CrawlFinished}
	if changed, err := s.Merge(older, time.Now()); changed || err != nil {
		t.Errorf("an older document: %v, %v", changed, err)
	}
	bad := *older
	bad.Version, bad.Settings.Include = 9, []string{"regex:("}
	if changed, err := s.Merge(&bad, time.Now()); changed || err == nil {
		t.Errorf("a document with a broken pattern: %v, %v", changed, err)
	}
	newer := *older
	newer.Version, newer.Settings.MaxDepth = 7, 3
	if changed, err := s.Merge(&newer, time.Now()); !changed || err != nil {
		t.Errorf("a newer document: %v, %v", changed, err)
	}
	entries := []string{"host:a.test", "host:b.test", "host:a.test"}
	if err := s.AddScope(entries); err != nil {
		t.Fatal(err)
	}
	if err := s.AddScope(entries[:1]); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s, dir)

	s, dir = openStore(t, path)
	defer closeStore(t, s, dir)
	if d := s.Current().Doc; d.Version != 7 || d.Settings.MaxDepth != 3 ||
		d.State != crawl.CrawlFinished {
		t.Errorf("reloaded: %+v", d)
	}
	if s.Scope.Len() != 2 || !s.Seeds.Has("host:a.test") || !s.Seeds.Has("host:b.test") {
		t.Errorf("%d reloaded entries", s.Scope.Len())
	}
}

// The file of an earlier version, cut off by a crash at any byte, is imported: whole lines stay, a
// partial line was never acknowledged.
func TestOldScopeLogIsTakenOver(t *testing.T) {
	t.Parallel()
	const text = "host:a.test\nhost:b.test\n"
	for cut := range len(text) + 1 {
		path := t.TempDir()
		if err := os.WriteFile(path+"/VERSION", []byte("crawlnode-data 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+"/scope.log", []byte(text[:cut]), 0o644); err != nil {
			t.Fatal(err)
		}
		s, dir := openStore(t, path)
		whole := strings.Count(text[:cut], "\n")
		for range 2 { // also after a restart
			if s.Scope.Len() != int64(whole) || s.Seeds.Has("host:a.test") != (whole > 0) ||
				s.Fresh != (whole == 0) || dir.Has("scope.log") {
				t.Fatalf("cut at %d: %d entries, fresh: %v", cut, s.Scope.Len(), s.Fresh)
			}
			closeStore(t, s, dir)
			s, dir = openStore(t, path)
		}
		closeStore(t, s, dir)
	}
}

func TestScopeEntriesThatNoLogCanHold(t *testing.T) {
	t.Parallel()
	s, dir := openStore(t, t.TempDir())
	defer closeStore(t, s, dir)
	for _, e := range []string{"", "a\nb", "a\rb", "\n", strings.Repeat("x", 4097)} {
		if err := s.AddScope([]string{"host:ok.test", e}); err == nil ||
			errors.Is(err, datadir.ErrStorage) {
			t.Errorf("%.20q: %v, want an error that is not the disk's", e, err)
		}
	}
	if s.Scope.Len() != 0 {
		t.Errorf("%d entries beside a bad one were taken", s.Scope.Len())
	}
}

func TestBrokenDocumentIsAStorageError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"version":"x"}`, `{"settings":{"scope":"nonsense"}}`} {
		path := t.TempDir()
		dir, err := datadir.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir.Join("crawl.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(dir, testSettings()); !errors.Is(err, datadir.ErrStorage) {
			t.Errorf("%q: %v, %v", text, s, err)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%q: the error does not name the directory: %v", text, err)
		} else if file := dir.Join("crawl.json"); !strings.Contains(err.Error(),
			"cp "+file+".spare "+file) {
			t.Errorf("%q: the error names no remedy: %v", text, err)
		}
		dir.Close()
	}
}

// FuzzDocument: any input is refused, or is a valid document that can be written and read again.
func FuzzDocument(f *testing.F) {
	whole, err := json.Marshal(
		&Document{Version: 3, By: "b", Settings: testSettings(), State: crawl.CrawlRunning})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	for _, s := range []string{``, `null`, `[]`, `{}`, `{"version":1}`,
		`{"version":18446744073709551615,"by":"\n","settings":{"scope":"host","include":["regex:("]}}`,
		`{"version":2,"settings":{"scope":"any","max_pages":-1,"delay":-5,"allow_net":["300.0.0.0/8"]},"run_since":"2026-01-01T00:00:00Z","ran_for":-9}`} {
		f.Add([]byte(s))
	}
	dir, err := datadir.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(dir.Close)
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc := &Document{}
		if json.Unmarshal(raw, doc) != nil {
			return
		}
		_ = doc.RunningFor(time.Now())
		_ = doc.Report()
		s := &Store{dir: dir, Seeds: scope.NewSeeds(nil)}
		book, err := s.compile(&Document{Settings: testSettings()})
		if err != nil {
			t.Fatal(err)
		}
		s.book.Store(book)
		changed, err := s.Merge(doc, time.Now())
		if err != nil || !changed {
			return
		}
		next := s.Current().Doc.Enter(crawl.CrawlFinished, "", "a", time.Now())
		if doc.Version+1 != 0 && !next.NewerThan(doc) {
			t.Errorf("%+v does not follow %+v", next, doc)
		}
	})
}
