package layout

import (
	"fmt"
	"testing"

	"crawlnode/crawl"
)

func FuzzSet(f *testing.F) {
	f.Add(EncodeSet(&SetRecord{3, 2, 6, []crawl.NodeID{"a", "b"}}))
	f.Add([]byte{FormatVersion, 1, 1, 200})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := DecodeSet(3, b)
		if err != nil {
			return
		}
		if err := s.Valid(); err != nil {
			t.Fatalf("%+v was read: %v", s, err)
		}
		again, err := DecodeSet(3, EncodeSet(&s))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
			t.Fatalf("%+v came back as %+v, %v", s, again, err)
		}
	})
}
