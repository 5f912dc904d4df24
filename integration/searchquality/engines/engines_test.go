package engines

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"crawlnode/integration/searchquality"
	"crawlnode/search/index"
)

var prepared = flag.String("prepared", "",
	"folder with documents and questions, made by TestQuality of integration/searchquality with "+
		"-search.prepare")

// engine is what is measured.
type engine interface {
	add([]index.Document) error
	ask(text string) ([]searchquality.Found, error)
	close() error
}

// TestEngine gives one engine all documents and asks it all questions.
func TestEngine(t *testing.T) {
	if *prepared == "" {
		t.Fatal("-prepared is missing: see doc.go")
	}
	for _, e := range []struct {
		name string
		open func(dir string) (engine, error)
	}{
		{"ours", newOurs},
		{"fts5", func(dir string) (engine, error) { return newFTS5(dir, false) }},
		{"fts5tuned", func(dir string) (engine, error) { return newFTS5(dir, true) }},
		{"bleve", func(dir string) (engine, error) { return newBleve(dir, false) }},
		{"blevetuned", func(dir string) (engine, error) { return newBleve(dir, true) }},
	} {
		t.Run(e.name, func(t *testing.T) { measure(t, e.open) })
	}
}

func measure(t *testing.T, open func(string) (engine, error)) {
	dir := t.TempDir()
	e, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages, text, cpu := 0, 0, time.Duration(0)
	err = searchquality.Documents(*prepared, 1000, func(docs []index.Document) error {
		pages += len(docs)
		for i := range docs {
			text += len(docs[i].Text)
		}
		before := processor(t)
		err := e.add(docs)
		cpu += processor(t) - before
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	before, settled := processor(t), 0*time.Second
	for size := int64(-1); size != folder(t, dir); { // merges go on in the background
		size = folder(t, dir)
		time.Sleep(2 * time.Second)
	}
	settled = processor(t) - before
	t.Logf("%d pages, %.1f MB of text: %v of processor a page, "+
		"%v with what follows in the background; %.1f MB on disk; memory %s", pages, float64(text)/1e6,
		(cpu / time.Duration(pages)).Round(time.Microsecond),
		((cpu + settled) / time.Duration(pages)).Round(time.Microsecond), float64(folder(t, dir))/1e6,
		memory(t))
	sets, err := searchquality.Questions(*prepared)
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		before := processor(t)
		score, err := searchquality.Measure(set, e.ask, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v, %v of processor a question", set.Name, score,
			((processor(t) - before) / time.Duration(len(set.Questions))).Round(10*time.Microsecond))
	}
	t.Logf("memory after the questions: %s", memory(t))
	if err := e.close(); err != nil {
		t.Fatal(err)
	}
}

// processor is the time of the processor that this process has used.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory is the memory of the process: at most, now, and without what is mapped from files.
func memory(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(raw)) {
		for _, name := range []string{"VmHWM:", "VmRSS:", "RssAnon:"} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				var kb int
				if _, err := fmt.Sscan(rest, &kb); err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprintf("%s %d MB", name, kb/1024))
			}
		}
	}
	return strings.Join(out, ", ")
}

// folder is the size of the files of a folder; files may go while it counts.
func folder(t *testing.T, dir string) int64 {
	t.Helper()
	sum := int64(0)
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil && !e.IsDir() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
