//race:none

package wire

import (
	"testing"

	"crawlnode/crawl"
)

// FuzzFrames: what was decoded is what was encoded.
func FuzzFrames(f *testing.F) {
	m := crawl.Mutation{Epoch: 2, Seq: 8, Entries: []crawl.Entry{{Key: []byte("k"), Value: []byte("v")}, {Key: []byte("gone")}}}
	f.Add(AppendMutation(AppendMutation(nil, 3, &m), 0, &m))
	f.Add([]byte{0, 1, 1, 0xff, 0xff, 0x03})
	f.Fuzz(func(t *testing.T, b []byte) {
		fr := NewReader(b)
		ms := fr.Mutations()
		if fr.End("mutations") != nil {
			return
		}
		var again []byte
		n := 0
		for i := range ms {
			again = AppendMutation(again, ms[i].Partition, &ms[i].Mutation)
			n += len(ms[i].Entries)
		}
		if n > len(b) {
			t.Fatalf("%d entries in %d bytes", n, len(b))
		}
		fr = NewReader(again)
		if third := fr.Mutations(); fr.End("mutations") != nil || len(third) != len(ms) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}
