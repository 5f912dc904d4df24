package recovery

import (
	"bytes"
	"testing"

	"crawlnode/frontier/layout"
)

func FuzzMark(f *testing.F) {
	b := make([]byte, MarkBytes)
	encodeMark(b, 3, &Mark{state: layout.Released, sealed: true, generation: 4, lastGeneration: 5, epoch: 6, maxEpoch: 7, view: 8, seq: 9, changes: 10})
	f.Add(b)
	f.Add(make([]byte, MarkBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < MarkBytes {
			return
		}
		m, ok, err := decodeMark(b[:MarkBytes], 3)
		if err != nil || !ok {
			return
		}
		again := make([]byte, MarkBytes)
		encodeMark(again, 3, &m)
		if back, ok, err := decodeMark(again, 3); err != nil || !ok || back != m {
			t.Fatalf("%+v came back as %+v, %v, %v", m, back, ok, err)
		}
		for i := range b[:MarkBytes] {
			bad := bytes.Clone(b[:MarkBytes])
			bad[i] ^= 1
			if _, ok, err := decodeMark(bad, 3); err == nil && ok {
				t.Fatalf("a flipped bit in byte %d was not noticed", i)
			}
		}
	})
}
