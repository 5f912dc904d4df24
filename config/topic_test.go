package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/focus"
)

// topicFile writes a small model, which depends on word, and returns its path.
func topicFile(t *testing.T, name, word string) string {
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
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, m.Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func loadWith(values map[string]string) (Config, error) {
	return Load(Input{Env: func(name string) (string, bool) { v, ok := values[name]; return v, ok }})
}

func TestFocusIsRead(t *testing.T) {
	t.Parallel()
	path := topicFile(t, "sql topic.focus", "sql")
	c, err := loadWith(map[string]string{"CRAWLNODE_FOCUS": path, "CRAWLNODE_FOCUS_MIN": "0.25"})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Settings("1")
	if s.Focus == nil || s.Focus.Name != "sql_topic.focus" || s.FocusMin != 0.25 {
		t.Fatalf("%v, %v", s.Focus, s.FocusMin)
	}
	r := Report(&s)
	if !strings.HasPrefix(r.Text("focus"), "sql_topic.focus (sha256 ") ||
		r.Text("focus_min") != "0.25" {
		t.Errorf("reported as %q, %v", r.Text("focus"), r.Text("focus_min"))
	}
	back := ofSettings(&s, "1")
	if again := back.Settings("1"); !again.Focus.Equal(s.Focus) || back.Validate() != nil {
		t.Errorf("the settings do not come back: %v", back.Validate())
	}
}

func TestFocusRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	if err := os.WriteFile(page, []byte("<html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"a missing file": {map[string]string{"CRAWLNODE_FOCUS": filepath.Join(dir, "no")},
			[]string{"--focus: ", "no such file", "focus train"}},
		"a page": {map[string]string{"CRAWLNODE_FOCUS": page},
			[]string{"--focus: ", page, "is not a model"}},
		"a minimum without a model": {map[string]string{"CRAWLNODE_FOCUS_MIN": "0.5"},
			[]string{"--focus-min: ", "needs a topic", "--focus FILE"}},
		"a minimum in percent": {map[string]string{"CRAWLNODE_FOCUS_MIN": "50"},
			[]string{"--focus-min: 50", "between 0"}},
		"a broken text": {map[string]string{"CRAWLNODE_FOCUS": crawl.TopicPrefix + "a:!"},
			[]string{"CRAWLNODE_FOCUS", "NAME:BASE64"}},
	} {
		_, err := loadWith(c.env)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: two errors for one: %v", name, err)
		}
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}

// A change carries the model, or what the report shows, which changes nothing. A path means nothing
// to a node.
func TestFocusChanges(t *testing.T) {
	t.Parallel()
	one, err := TopicFrom(topicFile(t, "one", "sql"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := TopicFrom(topicFile(t, "two", "plots"))
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Contact = "me@example.org"
	c.Focus.Topic = one
	s := c.Settings("1")
	for _, tt := range []struct {
		name, value string
		want        *crawl.Topic
		refused     string
	}{
		{"another model", two.Text(), two, ""},
		{"none", "", nil, ""},
		{"as reported", one.String(), one, ""},
		{"another's report", two.String(), nil, "names a file on one machine"},
		{"a path", "sql.focus", nil, "crawl-config set focus=FILE sends the model itself"},
		{"no model", crawl.TopicPrefix + "x:AAAA", nil, "is not a model"},
		{"a name that could be another setting",
			crawl.TopicPrefix + "a\nb:" + strings.TrimPrefix(one.Text(), crawl.TopicPrefix+"one:"), nil,
			"is not a name"},
	} {
		raw, err := json.Marshal(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Change(&s, map[string]json.RawMessage{"focus": raw}, "1")
		if tt.refused != "" {
			if wrong, ok := errors.AsType[*crawl.FieldErrors](err); !ok ||
				!strings.Contains(err.Error(), tt.refused) || wrong.Fields[0].Field != "focus" {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.refused)
			}
			continue
		}
		if err != nil || !got.Focus.Equal(tt.want) {
			t.Errorf("%s: %v, %v", tt.name, got.Focus, err)
		}
	}
	if _, err := Change(&s,
		map[string]json.RawMessage{
			"focus":     json.RawMessage(`null`),
			"focus_min": json.RawMessage(`0.5`),
		}, "1"); err == nil {
		t.Error("a minimum without a model was accepted")
	}
}

// A model that the cluster has otherwise is told by name, not by its bytes.
func TestFocusOverruled(t *testing.T) {
	t.Parallel()
	c, err := loadWith(map[string]string{"CRAWLNODE_FOCUS": topicFile(t, "mine", "sql")})
	if err != nil {
		t.Fatal(err)
	}
	var stored crawl.Settings
	list := c.Overruled([]string{"focus"}, &stored, "1")
	if len(list) != 1 || len(list[0].String()) > 100 ||
		!strings.Contains(list[0].String(), "mine (sha256 ") || list[0].Changes()[0] != "focus=mine" {
		t.Fatalf("%q", list)
	}
	d := Default()
	d.Contact = "me@example.org"
	s := d.Settings("1")
	adopted, err := Adopt(list, &s, "1")
	if err != nil || !adopted.Focus.Equal(c.Focus.Topic) {
		t.Errorf("adopted: %v", err)
	}
	same := c.Settings("1")
	if list := c.Overruled([]string{"focus"}, &same, "1"); len(list) != 0 {
		t.Errorf("the same model is overruled: %q", list)
	}
}

// Whatever text is given as a topic is refused, or is a topic that is written as it was read.
func FuzzTopic(f *testing.F) {
	for _, s := range []string{"", "sql.focus", crawl.TopicPrefix, crawl.TopicPrefix + "a:",
		crawl.TopicPrefix + "a:AAAA", crawl.TopicPrefix + "a:Y3J3bGZvYwo="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var topic Topic
		if err := topic.UnmarshalText([]byte(text)); err != nil {
			return
		}
		back, err := topic.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again Topic
		if err := again.UnmarshalText(back); err != nil || !again.Equal(topic.Topic) ||
			again.path != topic.path {
			t.Errorf("%q became %q, and %v", text, back, err)
		}
	})
}
