package export

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cenkalti/backoff/v5"

	"crawlnode/output/upload/s3test"
)

// TestToStore copies a file and a folder to a store that is away at first, and gives up when it
// stays away.
func TestToStore(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.wacz":   "one",
		"parts/p0": "two",
		"parts/p1": "three",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store := s3test.New(t.Cleanup)
	requests := 0
	store.Fault = func(*http.Request) string {
		if requests++; requests < 4 {
			return s3test.Busy
		}
		return ""
	}
	to := toStore{To: "s3://bucket/x?region=us-east-1", ToEndpoint: store.URL}
	o, err := to.openStore("a.wacz")
	if err != nil {
		t.Fatal(err)
	}
	o.pauses = &backoff.ZeroBackOff{}
	for _, path := range []string{"a.wacz", "parts"} {
		if err := o.copy(t.Context(), filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	bodies, _ := store.Objects()
	if len(bodies) != 3 || string(bodies["x/a.wacz"]) != "one" ||
		string(bodies["x/parts/p0"]) != "two" || string(bodies["x/parts/p1"]) != "three" {
		t.Errorf("the store has %q", bodies)
	}
	store.Fault = func(*http.Request) string { return s3test.Busy }
	if err := o.copy(t.Context(), filepath.Join(dir, "a.wacz")); err == nil ||
		!strings.Contains(err.Error(), "after 6 attempts") {
		t.Errorf("the store is away: %v", err)
	}
	for _, wrong := range []struct {
		to     toStore
		output string
	}{{toStore{ToEndpoint: "http://127.0.0.1:9"}, "a"}, {toStore{To: "s3://bkt"}, "-"},
		{toStore{To: "s3://bkt"}, ""}, {toStore{To: "http://b"}, "a"},
		{toStore{To: "s3://bkt", ToEndpoint: "b"}, "a"}} {
		if _, err := wrong.to.openStore(wrong.output); err == nil {
			t.Errorf("%+v to %q was taken", wrong.to, wrong.output)
		}
	}
	if none, err := (&toStore{}).openStore("-"); none != nil || err != nil ||
		none.copy(t.Context(), "nowhere") != nil {
		t.Errorf("without --to: %v, %v", none, err)
	}
}
