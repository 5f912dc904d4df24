package crawldoc

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestFlippedBit flips every bit of a document on disk. None may be read as another document.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	doc := &Document{
		Version:  7,
		By:       "b",
		Settings: testSettings(),
		State:    crawl.CrawlPaused,
		RanFor:   time.Hour,
	}
	doc.Settings.Exclude = []string{`host:a.test`, `*"checksum": "0000000000000000"*`}
	whole, err := encode(doc)
	if err != nil {
		t.Fatal(err)
	}
	whole = append(whole, '\n')
	if _, err := decode(whole, note{}); err != nil {
		t.Fatalf("%v\n%s", err, whole)
	}
	for i := range len(whole) - 1 { // the line's end is no part of the document
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			if got, err := decode(b, note{}); err == nil {
				t.Fatalf("byte %d, %q for %q, is read: %+v", i, b[i], whole[i], got)
			}
		}
	}
	for cut := range whole {
		if _, err := decode(whole[:cut], note{}); err == nil && cut < len(whole)-1 {
			t.Fatalf("%d of %d bytes are read", cut, len(whole))
		}
	}
}

// TestNoChecksum reads documents of earlier versions, and sends none to other nodes.
func TestNoChecksum(t *testing.T) {
	t.Parallel()
	whole, err := encode(&Document{Version: 7, Settings: testSettings(), State: crawl.CrawlIdle})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(whole, &fields); err != nil ||
		len(fields["checksum"]) != len(noChecksum)+2 {
		t.Fatalf("%v in %s", err, whole)
	}
	delete(fields, "checksum")
	old, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := decode(old, note{})
	if err != nil || doc.Version != 7 {
		t.Fatalf("%+v, %v", doc, err)
	}
	sent, err := json.Marshal(doc)
	if err != nil || strings.Contains(string(sent), "checksum") {
		t.Errorf("%v, %s", err, sent)
	}
}

// Who reads the settings from outside is told of a flipped byte, too, with the path; an archive
// alone has none.
func TestReadSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if s, err := ReadSettings(dir); s != nil || err != nil {
		t.Errorf("nothing is read as %+v, %v", s, err)
	}
	settings := testSettings()
	settings.Normalize = []string{"www"}
	whole, err := encode(&Document{Version: 7, Settings: settings, State: crawl.CrawlIdle})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "crawl.json")
	for text, bad := range map[string]bool{
		string(whole): false,
		strings.Replace(string(whole), `"www"`, `"wwv"`, 1): true,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadSettings(dir)
		if bad && (err == nil || !strings.Contains(err.Error(), path)) {
			t.Errorf("damaged, and read as %+v, %v", s, err)
		}
		if !bad && (err != nil || !slices.Equal(s.Normalize, settings.Normalize)) {
			t.Errorf("read as %+v, %v", s, err)
		}
	}
}
