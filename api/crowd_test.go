package api

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCrowded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"nothing", "", false},
		{"as many objects as may be", "[" + strings.Repeat("{},", mostObjects-1) + "{}]", false},
		{"one object more", "[" + strings.Repeat("{},", mostObjects) + "{}]", true},
		{"lists", strings.Repeat("[", mostValues+1), true},
		{"strings", "[" + strings.Repeat(`"",`, mostValues) + `""]`, true},
		{"commas in a string", `["` + strings.Repeat(",", mostValues) + `"]`, false},
		{"behind a quote in a string", `["\\",` + strings.Repeat(`"\"{",`, mostObjects+1) + `""]`, false},
	} {
		if got := crowded([]byte(c.text)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestCrowdedBodies: a body of millions of nothings is refused before it is read into memory.
func TestCrowdedBodies(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{})
	for path, body := range map[string]string{
		"/api/v1/frontier/results": `{"lease_id":"l","results":[` + strings.Repeat("{},", 5_000_000) +
			"{}]}",
		"/api/v1/frontier/urls": `{"urls":[` + strings.Repeat("{},", 5_000_000) + "{}]}",
		"/api/v1/seeds":         `{"urls":[` + strings.Repeat("0,", 8_000_000) + "0]}",
	} {
		w := ask(h, "POST", path, body)
		if w.Code != 413 || !strings.Contains(w.Body.String(), "several requests") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// FuzzCrowded: whatever JSON has few objects and values is taken.
func FuzzCrowded(f *testing.F) {
	f.Add(`{"a":["\\\"{[,"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < mostObjects && json.Valid([]byte(text)) && crowded([]byte(text)) {
			t.Error(text)
		}
	})
}
