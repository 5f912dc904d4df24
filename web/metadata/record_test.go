package metadata

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAuthorsJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		authors Authors
		want    string
	}{
		{nil, `{}`},
		{Authors{"Ada"}, `{"author":"Ada"}`},
		{Authors{"Ada & <Co>", "Bo"}, `{"author":["Ada & <Co>","Bo"]}`},
	} {
		r := Record{Author: c.authors}
		got := string(r.JSON())
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.authors, got, c.want)
		}
		var back Record
		if err := json.Unmarshal([]byte(got), &back); err != nil || !reflect.DeepEqual(back, r) {
			t.Errorf("%s is read as %+v, %v", got, back, err)
		}
	}
	for _, bad := range []string{`{"author":1}`, `{"author":[1]}`, `{"author":{}}`} {
		if err := json.Unmarshal([]byte(bad), new(Record)); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	if r := (Record{}); !r.Empty() || string(r.JSON()) != "{}" {
		t.Errorf("%s", r.JSON())
	}
	full := reflect.ValueOf(Record{
		"t", Authors{"a"}, "2024", "2024", "Article", "s", "https://a.example/", "l", "en",
		map[string]any{"date": "2024"},
	})
	for i := range full.NumField() {
		var r Record
		reflect.ValueOf(&r).Elem().Field(i).Set(full.Field(i))
		if r.Empty() {
			t.Errorf("a record with %s is empty", full.Type().Field(i).Name)
		}
	}
}

// TestJSONFits: what is too long loses the last values of its longest entries, then fields.
func TestJSONFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü\"\u2028", 2<<10)
	objects := []any{}
	for i := range 40 {
		objects = append(objects,
			object{"@type": "Article", "name": fmt.Sprint(i), "text": strings.Repeat("x", 1<<10)})
	}
	for _, c := range []struct {
		name string
		r    Record
		want map[string]int // values of the entries that stay
	}{
		{"all fits", Record{Title: "t", Raw: map[string]any{"a": "1", "b": []any{"2", "3"}}}, map[string]int{"a": 1, "b": 2}},
		{"a list", Record{Title: "t", Raw: map[string]any{"json-ld": objects, "og:title": "t"}}, map[string]int{"json-ld": 15, "og:title": 1}},
		{"a string", Record{Raw: map[string]any{"a": long, "b": "2"}}, map[string]int{"b": 1}},
		{"one value", Record{Raw: map[string]any{"a": []any{long}, "b": "2"}}, map[string]int{"b": 1}},
		{"a name", Record{Raw: map[string]any{long: "1", "b": []any{"2"}}}, map[string]int{"b": 1}},
		{"fields", Record{Title: long, Licence: "l", Author: Authors{long, "Ada"}, Raw: map[string]any{"a": "1"}}, map[string]int{"a": 1}},
		{"one author", Record{Author: Authors{long}, Raw: map[string]any{"a": "1"}}, map[string]int{"a": 1}},
		{"many authors", Record{Author: strings.Split(long, "ü"), Raw: map[string]any{"a": "1"}}, map[string]int{"a": 1}},
	} {
		text := c.r.JSON()
		if len(text) > MaxBytes {
			t.Errorf("%s: %d bytes", c.name, len(text))
		}
		var got Record
		if err := json.Unmarshal(text, &got); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		sizes := map[string]int{}
		for name, v := range got.Raw {
			sizes[name] = len(list(v))
		}
		if !reflect.DeepEqual(sizes, c.want) {
			t.Errorf("%s: %v, want %v", c.name, sizes, c.want)
		}
		if c.r.Title != "" && got.Title == "" || len(c.r.Author) > 0 && len(got.Author) == 0 {
			t.Errorf("%s: a field is gone", c.name)
		}
		if again := c.r.JSON(); string(again) != string(text) {
			t.Errorf("%s: another time it is other text", c.name)
		}
	}
}
