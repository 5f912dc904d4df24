package crawl

import (
	"strings"
	"testing"
)

func TestValidCrawl(t *testing.T) {
	t.Parallel()
	for id, ok := range map[string]bool{
		"a": true, "Größe 1": true, strings.Repeat("x",
			MaxCrawlID): true, strings.Repeat("x", MaxCrawlID+1): false,
		"": false, "DEFAULT": false, "a\x00b": false, "a\x1b[2J": false, "\xff": false, "a\u0085": false,
	} {
		if ValidCrawl(id) != ok {
			t.Errorf("ValidCrawl(%q) = %v", id, !ok)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	m := Metadata{"ab": {"c", ""}, "": {"dé"}}
	if m.Size() != 6 || m.ManyParts() {
		t.Errorf("%d bytes, many: %v", m.Size(), m.ManyParts())
	}
	if m[""] = make([]string, MaxMetadataParts); !m.ManyParts() {
		t.Error("a metadata of empty values is not many parts")
	}
}
