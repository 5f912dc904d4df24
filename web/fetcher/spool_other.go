//go:build !linux

package fetcher

// spool is not available: payloads stay in anonymous memory.
type spool struct {
	memory []byte
	size   int64
}

func newSpool(string, int64) *spool { return nil }

func (*spool) grow(int64, int64) bool { return false }

func (*spool) close() {}
