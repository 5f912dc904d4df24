package focus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"unicode/utf8"
)

// A model as bytes, little endian; u is an unsigned varint, f a float64:
//
//	magic     8  "crwlfoc\n"
//	version   1  1
//	bits      1  18: the logarithm of the number of places
//	scale     f  of a weight
//	curves    f f f f  slope and intercept for pages, for links
//	counts    u u  pages of the topic, other pages
//	measures  f f f  accuracy, AUC, AUC of links
//	words     twice, for and against: u number; each: u length, UTF-8
//	weights   u number; each: u distance to the place before (the first from -1), int8 not 0
//	crc       4  CRC-32C of all before
//
// A reader refuses what is not exactly this: there is one encoding of a model.
const (
	magic   = "crwlfoc\n"
	version = 1
	// MaxWeights is the largest number of weights in a model.
	MaxWeights = 64 << 10
	// MaxWords is the largest number of words for people on a side, MaxWord the length of one in
	// bytes.
	MaxWords = 30
	MaxWord  = 80
	// MaxSize is larger than any model, in bytes.
	MaxSize = 256 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrNotModel is inside the error for bytes that do not begin as a model does.
var ErrNotModel = errors.New("is not a model that `crawlnode focus train` has written")

// Encode returns the model as bytes, at most MaxSize.
func (m *Model) Encode() []byte {
	b := append(make([]byte, 0, 3*m.info.Weights+4096), magic...)
	b = append(b, version, featureBits)
	for _, f := range [...]float64{m.scale, m.page.slope, m.page.intercept, m.link.slope,
		m.link.intercept} {
		b = appendFloat(b, f)
	}
	b = binary.AppendUvarint(b, uint64(m.info.Like))
	b = binary.AppendUvarint(b, uint64(m.info.Unlike))
	for _, f := range [...]float64{m.info.Accuracy, m.info.AUC, m.info.LinkAUC} {
		b = appendFloat(b, f)
	}
	for _, list := range [...][]string{m.info.For, m.info.Against} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, word := range list {
			b = binary.AppendUvarint(b, uint64(len(word)))
			b = append(b, word...)
		}
	}
	b = binary.AppendUvarint(b, uint64(m.info.Weights))
	before := -1
	for at, w := range m.weights {
		if w != 0 {
			b = binary.AppendUvarint(b, uint64(at-before))
			b = append(b, byte(w))
			before = at
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

// Decode reads a model. The error says what is wrong with b.
func Decode(b []byte) (*Model, error) {
	switch {
	case len(b) < len(magic)+2 || string(b[:len(magic)]) != magic:
		return nil, ErrNotModel
	case len(b) > MaxSize:
		return nil, fmt.Errorf("has %d bytes, at most %d are a model", len(b), MaxSize)
	case b[len(magic)] != version || b[len(magic)+1] != featureBits:
		return nil, fmt.Errorf("is a model of format %d with 2^%d places, "+
			"and this program reads format %d with 2^%d: train it again with this program",
			b[len(magic)], b[len(magic)+1], version, featureBits)
	}
	body, sum := b[:len(b)-4], b[len(b)-4:]
	if binary.LittleEndian.Uint32(sum) != crc32.Checksum(body, castagnoli) {
		return nil, errors.New("is damaged or cut off: its checksum is wrong: copy it again")
	}
	d := decoder{b: body[min(len(magic)+2, len(body)):]}
	m := d.model()
	if d.bad == "" && len(d.b) > 0 {
		d.fail("bytes behind its end")
	}
	if d.bad != "" {
		return nil, fmt.Errorf("is a damaged model: %s", d.bad)
	}
	return m, nil
}

// decoder reads a body. After the first thing that is wrong it returns zeros.
type decoder struct {
	b   []byte
	bad string
}

func (d *decoder) fail(what string) {
	if d.bad == "" {
		d.bad = what
	}
	d.b = nil
}

func (d *decoder) model() *Model {
	m := &Model{weights: make([]int8, features)}
	limits := [...]struct {
		to       *float64
		low, top float64
		what     string
	}{
		{&m.scale, 0, 1e6, "scale"},
		{&m.page.slope, 0, 1e6, "slope"}, {&m.page.intercept, -1e6, 1e6, "intercept"},
		{&m.link.slope, 0, 1e6, "slope of links"}, {&m.link.intercept, -1e6, 1e6, "intercept of links"},
	}
	for _, l := range limits {
		*l.to = d.float(l.low, l.top, l.what)
	}
	m.info.Like, m.info.Unlike = int(d.number(1<<31, "pages")), int(d.number(1<<31, "pages"))
	for _, to := range [...]*float64{&m.info.Accuracy, &m.info.AUC, &m.info.LinkAUC} {
		*to = d.float(0, 1, "measure")
	}
	m.info.For, m.info.Against = d.words(), d.words()
	m.info.Weights = int(d.number(MaxWeights, "weights"))
	at := -1
	for range m.info.Weights {
		at += int(d.number(features, "distance"))
		if d.bad != "" || at < 0 || at >= features || len(d.b) == 0 || d.b[0] == 0 || m.weights[at] != 0 {
			d.fail("a weight out of its place")
			break
		}
		m.weights[at] = int8(d.b[0])
		d.b = d.b[1:]
	}
	return m
}

func (d *decoder) float(low, top float64, what string) float64 {
	if len(d.b) < 8 {
		d.fail("it ends in its " + what)
		return 0
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
	if !(f >= low && f <= top) { // NaN too
		d.fail("its " + what + " is out of range")
		return 0
	}
	d.b = d.b[8:]
	return f
}

func (d *decoder) number(most uint64, what string) uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || n > most || size > 1 && d.b[size-1] == 0 {
		d.fail("its number of " + what + " is out of range")
		return 0
	}
	d.b = d.b[size:]
	return n
}

// words reads a list of words for people.
func (d *decoder) words() []string {
	var list []string
	for range d.number(MaxWords, "words") {
		n := int(d.number(MaxWord, "bytes of a word"))
		if n == 0 || n > len(d.b) || !utf8.Valid(d.b[:n]) {
			d.fail("a word is not readable")
			return nil
		}
		list = append(list, string(d.b[:n]))
		d.b = d.b[n:]
	}
	return list
}
