package htmlparse

import (
	"errors"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/transform"
)

// measureFromBytes is the size from which a text is measured before it is converted. Growing by
// doubling would allocate five times the size of a large page.
const measureFromBytes = 256 << 10

// errStuck says that a decoder makes no progress.
var errStuck = errors.New("the decoder makes no progress")

// convert converts a text to UTF-8. Large texts are decoded twice, the first time to count, so that
// no more memory is allocated than the result needs.
func convert(enc encoding.Encoding, body []byte) ([]byte, error) {
	d := enc.NewDecoder()
	if len(body) < measureFromBytes {
		text, _, err := transform.Bytes(d, body)
		return text, err
	}
	size, err := convertedSize(d, body)
	if err != nil {
		return nil, err
	}
	text := make([]byte, size+utf8.UTFMax) // some decoders want room for any rune
	d.Reset()
	n, _, err := d.Transform(text, body, true)
	return text[:n], err
}

func convertedSize(d *encoding.Decoder, body []byte) (size int, err error) {
	var scratch [8 << 10]byte
	for {
		written, read, err := d.Transform(scratch[:], body, true)
		size += written
		body = body[read:]
		switch {
		case err == nil:
			return size, nil
		case !errors.Is(err, transform.ErrShortDst):
			return 0, err
		case written == 0 && read == 0:
			return 0, errStuck
		}
	}
}
