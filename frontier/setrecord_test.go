package frontier

import (
	"crawlnode/crawl"
	"fmt"
	"testing"
)

func FuzzSet(f *testing.F) {
	f.Add(encodeSet(&SetRecord{3, 2, 6, []crawl.NodeID{"a", "b"}}))
	f.Add([]byte{formatVersion, 1, 1, 200})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeSet(3, b)
		if err != nil {
			return
		}
		if err := s.valid(); err != nil {
			t.Fatalf("%+v was read: %v", s, err)
		}
		again, err := decodeSet(3, encodeSet(&s))
		if err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
			t.Fatalf("%+v came back as %+v, %v", s, again, err)
		}
	})
}
