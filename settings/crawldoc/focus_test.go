package crawldoc

import (
	"fmt"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/focus"
	"crawlnode/local/datadir"
)

// testTopic is a small model.
func testTopic(t *testing.T, word string) *crawl.Topic {
	t.Helper()
	tr := focus.NewTrainer()
	for i := range focus.MinPages {
		tr.Add(true, focus.Page{Text: fmt.Appendf(nil, "%s topic x%c", word, 'a'+i)})
		tr.Add(false, focus.Page{Text: fmt.Appendf(nil, "other things y%c", 'a'+i)})
	}
	m, err := tr.Train(focus.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &crawl.Topic{Name: word + ".focus", Model: m.Encode()}
}

// The topic model is on disk and in the rules of the pipeline, is read again only when it changes,
// and ends with its setting. A model that cannot be read is refused.
func TestTopicModel(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, testSettings())
	if err != nil {
		t.Fatal(err)
	}
	if s.Current().Pipeline.Focus != nil {
		t.Error("a model from nowhere")
	}
	change := func(f func(*crawl.Settings)) error {
		_, err := s.Change(func(d *Document) *Document {
			c := d.Settings
			f(&c)
			return d.With(c, "a", time.Unix(1, 0))
		})
		return err
	}
	sql, plots := testTopic(t, "sql"), testTopic(t, "plots")
	if err := change(func(c *crawl.Settings) { c.Focus = sql }); err != nil {
		t.Fatal(err)
	}
	first := s.Current().Pipeline.Focus
	if first == nil || first.Score("", []byte("sql topic")) < 0.5 {
		t.Fatalf("the model is %v", first)
	}
	if err := change(func(c *crawl.Settings) {
		c.MaxPages = 7
		c.Focus = testTopic(t, "sql")
	}); err != nil ||
		s.Current().Pipeline.Focus != first {
		t.Errorf("the same model was read again, or %v", err)
	}
	if err := change(func(c *crawl.Settings) { c.Focus = plots }); err != nil ||
		s.Current().Pipeline.Focus == first {
		t.Errorf("another model has no effect, or %v", err)
	}
	if err := change(func(c *crawl.Settings) {
		c.Focus = &crawl.Topic{Name: "x", Model: []byte("no model")}
	}); err == nil || s.Current().Doc.Settings.Focus != plots {
		t.Errorf("what is no model was taken: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir.Close()
	if dir, err = datadir.Open(path); err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if s, err = Open(dir, testSettings()); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if m := s.Current().Pipeline.Focus; m == nil || m.Score("", []byte("plots topic")) < 0.5 {
		t.Errorf("after a restart the model is %v", m)
	}
	if err := change(func(c *crawl.Settings) { c.Focus = nil }); err != nil ||
		s.Current().Pipeline.Focus != nil {
		t.Errorf("the model stays, or %v", err)
	}
}
