package frontier

import (
	"encoding/binary"
	"github.com/zeebo/xxh3"
)

// fingerprint is the xxh3-128 hash of a canonical URL. It names the record;
// two URLs of one host with the same fingerprint are told apart by the URL in
// the record, and the second takes the next fingerprint that is free.
type fingerprint [16]byte

// maxProbes bounds the search for a free fingerprint. Chance does not reach it.
const maxProbes = 16

// probe is the n-th fingerprint under which a record may stand, from 0.
func (f fingerprint) probe(n uint64) fingerprint {
	if n > 0 {
		binary.BigEndian.PutUint64(f[8:], binary.BigEndian.Uint64(f[8:])+n)
	}
	return f
}

func fingerprintOf(url string) fingerprint { return xxh3.HashString128(url).Bytes() }
