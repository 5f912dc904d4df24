package layout

import (
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

func TestTextPlacesAndAnchors(t *testing.T) {
	t.Parallel()
	for _, p := range []TextPlace{{}, {Seq: 1 << 40, Size: 77}, {Seq: 9, Size: 7, Document: 300}} {
		if got, err := DecodeTextPlace(EncodeTextPlace(p)); err != nil || got != p {
			t.Errorf("%+v became %+v, %v", p, got, err)
		}
	}
	var all []Anchor
	for i := range uint64(MaxAnchors) {
		b := EncodeAnchors(all)
		if got, err := DecodeAnchors(b); err != nil || !slices.Equal(got, all) ||
			len(b) > MaxAnchorsBytes {
			t.Errorf("%v became %v in %d bytes, %v", all, got, len(b), err)
		}
		all = append(all, Anchor{^i, strings.Repeat("x", crawl.MaxAnchor)})
	}
	url, document, err := DecodeText(EncodeTextElsewhere("http://a.test/", 300))
	if seq, ok := ElsewhereOf(document); err != nil || url != "http://a.test/" || !ok || seq != 300 {
		t.Errorf("%q in %d, %v, %v", url, seq, ok, err)
	}
	for _, document := range []string{"", "\x01\x02", "\x00", "\x00\x01\x01"} {
		if seq, ok := ElsewhereOf([]byte(document)); ok {
			t.Errorf("the document %q is in %d", document, seq)
		}
	}
}

func FuzzDecodeAnchors(f *testing.F) {
	f.Add(EncodeAnchors([]Anchor{{1, "a"}, {1 << 63, ""}}))
	f.Add([]byte{FormatVersion, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if all, err := DecodeAnchors(b); err == nil {
			if again, err := DecodeAnchors(EncodeAnchors(all)); err != nil || !slices.Equal(again, all) {
				t.Errorf("%v became %v, %v", all, again, err)
			}
		}
	})
}
