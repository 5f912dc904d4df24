package storage

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

func FuzzScanLog(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Add(append(make([]byte, logHead), 0, 0, 1, 1, 0, 'k', 'v', 1, 2, 3, 4))
	f.Add(append(make([]byte, logHead), 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff))
	f.Fuzz(func(t *testing.T, b []byte) {
		end, err := scanLog(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		longer := append(b, make([]byte, 100)...)
		if more, _ := scanLog(bytes.NewReader(longer), int64(len(b))); end == logWhole && more != logWhole && len(b) > logHead {
			t.Fatalf("zero bytes at the end of a whole log make it %d", more)
		}
	})
}

// TestScanLog checks where a log of two entries is found to be cut.
func TestScanLog(t *testing.T) {
	t.Parallel()
	log := make([]byte, logHead)
	for _, value := range []string{"one", "two"} {
		from := len(log)
		log = append(log, 1, 0, 1, byte(len(value)), 0, 'k')
		log = append(log, value...)
		log = binary.BigEndian.AppendUint32(log, crc32.Checksum(log[from:], castagnoli))
	}
	entry := (len(log) - logHead) / 2
	change := func(at int, to byte) []byte {
		b := append(bytes.Clone(log), make([]byte, 50)...)
		b[at] = to
		return b
	}
	for what, test := range map[string]struct {
		log  []byte
		want logEnd
	}{
		"two entries":                   {log, logWhole},
		"zero bytes behind":             {append(bytes.Clone(log), make([]byte, 3)...), logWhole},
		"nothing":                       {nil, logWhole},
		"the last one torn":             {log[:len(log)-2], logCut},
		"a flipped value":               {change(logHead+7, 'x'), logCut},
		"a key length that became zero": {change(logHead+2, 0), logCut},
		"a value beyond the file":       {append(change(logHead+entry+3, 0xff)[:logHead+entry+4], 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), logAbsurd},
	} {
		got, err := scanLog(bytes.NewReader(test.log), int64(len(test.log)))
		if err != nil || got != test.want {
			t.Errorf("%s: %d, %v, want %d", what, got, err, test.want)
		}
	}
}
