package htmlparse

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/transform"
)

// A large text is converted as a small one is, and takes no more memory than it
// needs: here at most three bytes for one.
func TestConvertLarge(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, measureFromBytes+12345)
	for i := range body {
		body[i] = byte(random.Uint32())
	}
	for _, name := range []string{"windows-1252", "utf-16le", "gbk", "gb18030", "big5", "shift_jis",
		"euc-jp", "iso-2022-jp", "euc-kr", "koi8-r", "replacement", "x-user-defined"} {
		enc, _ := charset.Lookup(name)
		want, _, wantErr := transform.Bytes(enc.NewDecoder(), body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := convert(enc, body)
		runtime.ReadMemStats(&after)
		if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %d bytes, %v; want %d, %v", name, len(got), err, len(want), wantErr)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > uint64(len(want)+128<<10) {
			t.Errorf("%s: %d bytes of memory for %d", name, spent, len(want))
		}
	}
}
