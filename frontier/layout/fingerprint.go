package layout

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// Fingerprint is the xxh3-128 hash of a canonical URL. It names the record;
// two URLs of one host with the same fingerprint are told apart by the URL in
// the record, and the second takes the next fingerprint that is free.
type Fingerprint [16]byte

// MaxProbes bounds the search for a free fingerprint. Chance does not reach it.
const MaxProbes = 16

// Probe is the n-th fingerprint under which a record may stand, from 0.
func (f Fingerprint) Probe(n uint64) Fingerprint {
	if n > 0 {
		binary.BigEndian.PutUint64(f[8:], binary.BigEndian.Uint64(f[8:])+n)
	}
	return f
}

// ProbeOf is which fingerprint of a canonical URL is fp.
func ProbeOf(url string, fp Fingerprint) (n uint64, ok bool) {
	for first := FingerprintOf(url); n < MaxProbes; n++ {
		if first.Probe(n) == fp {
			return n, true
		}
	}
	return 0, false
}

// FingerprintOf hashes a canonical URL, or a host.
func FingerprintOf(url string) Fingerprint { return xxh3.HashString128(url).Bytes() }
