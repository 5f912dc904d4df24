package pdf

import (
	"strings"
	"testing"
)

func TestIsPDF(t *testing.T) {
	t.Parallel()
	const begin = "%PDF-1.4\n"
	junk := strings.Repeat("x", headerWithin)
	for _, c := range []struct {
		name, body, mediaType string
		want                  bool
	}{
		{"declared", begin, "application/pdf", true},
		{"declared, with a parameter", begin, " Application/PDF ; charset=binary", true},
		{"declared, old name", begin, "application/x-pdf", true},
		{"declared, after junk", junk[:headerWithin-len(header)] + begin, "application/pdf", true},
		{"declared, after too much junk", junk[:headerWithin-len(header)+1] + begin,
			"application/pdf", false},
		{"declared, a page of errors", "<html><p>not found", "application/pdf", false},
		{"declared, empty", "", "application/pdf", false},
		{"unknown", begin, "", true},
		{"bytes", begin, "application/octet-stream", true},
		{"bytes, in an archive", "PK\x03\x04" + begin, "application/octet-stream", false},
		{"bytes, cut", "%PDF", "application/octet-stream", false},
		{"unknown, a page about it", "<p>" + begin, "", false},
		{"text", begin, "text/plain", false},
		{"page", begin, "text/html", false},
		{"picture", begin, "image/png", false},
	} {
		if got := IsPDF([]byte(c.body), c.mediaType); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
