package segment

import (
	"encoding/binary"
	"math"
	"time"
)

// Key names a document: 128 bits of a hash of its URL.
type Key [16]byte

// Card is what a question needs of a document besides its words.
type Card struct {
	Key         Key
	Partition   uint32
	Revision    uint32
	FetchedAt   time.Time // to the millisecond; the zero time is kept
	Fingerprint uint64
	Importance  float32
	Language    [2]byte // of the code, e.g. "de"; zero when it is not known
	Words       uint32  // of the text
}

const cardBytes = 64

// The bytes of a card: key 16, time 8 (milliseconds since 1970), fingerprint 8, partition 4,
// revision 4, importance 4, words 4, language 2, 2 free, end of the URL 8, 4 free.
func appendCard(dst []byte, c *Card, urlEnd uint64) []byte {
	dst = append(dst, c.Key[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(c.FetchedAt.UnixMilli()))
	dst = binary.LittleEndian.AppendUint64(dst, c.Fingerprint)
	dst = binary.LittleEndian.AppendUint32(dst, c.Partition)
	dst = binary.LittleEndian.AppendUint32(dst, c.Revision)
	dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(c.Importance))
	dst = binary.LittleEndian.AppendUint32(dst, c.Words)
	dst = append(dst, c.Language[0], c.Language[1], 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, urlEnd)
	return binary.LittleEndian.AppendUint32(dst, 0)
}

func parseCard(raw []byte) Card {
	le := binary.LittleEndian
	return Card{
		Key:         Key(raw[:16]),
		FetchedAt:   time.UnixMilli(int64(le.Uint64(raw[16:]))).UTC(),
		Fingerprint: le.Uint64(raw[24:]),
		Partition:   le.Uint32(raw[32:]),
		Revision:    le.Uint32(raw[36:]),
		Importance:  math.Float32frombits(le.Uint32(raw[40:])),
		Words:       le.Uint32(raw[44:]),
		Language:    [2]byte{raw[48], raw[49]},
	}
}
