package api

import (
	"encoding/json"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// The record of changes names a topic model, and does not hold it.
func TestTopicsAreNotedByName(t *testing.T) {
	t.Parallel()
	topic := crawl.Topic{Name: "sql.focus", Model: []byte(strings.Repeat("x", 10_000))}
	text, err := json.Marshal(topic.Text())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ raw, want string }{
		"a topic": {string(text), `"` + topic.String() + `"`},
		"a broken topic": {`"` + crawl.TopicPrefix + `sql:!"`,
			`"` + crawl.TopicPrefix + `(not readable)"`},
		"no topic":     {`""`, `""`},
		"another text": {`"2s"`, `"2s"`},
		"a number":     {`3`, `3`},
		"a list":       {`["a"]`, `["a"]`},
	} {
		settings := map[string]json.RawMessage{"x": json.RawMessage(c.raw)}
		if got := string(shortTexts(settings)["x"]); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if string(settings["x"]) != c.raw {
			t.Errorf("%s: the change itself is now %s", name, settings["x"])
		}
	}
}
