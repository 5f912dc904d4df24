//race:none

package layout

import (
	"bytes"
	"testing"
)

func TestBooksOfManyPartitions(t *testing.T) {
	t.Parallel()
	st := PartState{Meta: Meta{Seq: 7, Epoch: 4}}
	st.Counters.Seen = 12
	want := []Generation{{3, 1}, {0, 9}, {MaxPartition, 1 << 31}}
	var b []byte
	for _, g := range want {
		b = AppendBooks(b, g, EncodeMeta(&st, Stamp{}))
	}
	var got []Generation
	if err := EachBooks(b, func(g Generation, entry []byte) {
		got = append(got, g)
		if m, err := DecodeMeta(entry); err != nil || m.Seq != 7 || m.Counters.Seen != 12 {
			t.Errorf("%v: %+v, %v", g, m, err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("partitions %v, want %v", got, want)
	}
	for n := range b { // cut off anywhere but behind an entry
		whole := 0
		if err := EachBooks(b[:n], func(Generation, []byte) { whole++ }); err == nil &&
			(n-1)%(len(b)/3) != 0 {
			t.Errorf("%d of %d bytes are read, as %d entries", n, len(b), whole)
		}
	}
}

func FuzzBooks(f *testing.F) {
	f.Add(AppendBooks(nil, Generation{1, 2}, []byte("entry")))
	f.Add([]byte{FormatVersion})
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		err := EachBooks(b, func(g Generation, entry []byte) { again = AppendBooks(again, g, entry) })
		if err == nil && len(again) > 0 && !bytes.Equal(again, b) && len(again) >= len(b) {
			t.Errorf("%x is read as %x", b, again)
		}
	})
}
