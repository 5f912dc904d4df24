package frontier

import (
	"bytes"
	"testing"
)

func FuzzMark(f *testing.F) {
	b := make([]byte, markBytes)
	encodeMark(b, 3, &mark{state: Released, sealed: true, generation: 4, lastGeneration: 5, epoch: 6, maxEpoch: 7, view: 8, seq: 9, changes: 10})
	f.Add(b)
	f.Add(make([]byte, markBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < markBytes {
			return
		}
		m, ok, err := decodeMark(b[:markBytes], 3)
		if err != nil || !ok {
			return
		}
		again := make([]byte, markBytes)
		encodeMark(again, 3, &m)
		if back, ok, err := decodeMark(again, 3); err != nil || !ok || back != m {
			t.Fatalf("%+v came back as %+v, %v, %v", m, back, ok, err)
		}
		for i := range b[:markBytes] {
			bad := bytes.Clone(b[:markBytes])
			bad[i] ^= 1
			if _, ok, err := decodeMark(bad, 3); err == nil && ok {
				t.Fatalf("a flipped bit in byte %d was not noticed", i)
			}
		}
	})
}
